// before
int split(void);
// looks for the last separator
int main(void) {
	return split();
}
