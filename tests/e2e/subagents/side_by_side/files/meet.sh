# Each waits until the other one is there, too.
touch "$1.came"
until [ -e "$2.came" ]; do sleep 0.05; done
echo met
