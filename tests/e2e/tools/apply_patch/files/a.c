int one;
int two;
