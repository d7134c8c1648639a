#!/bin/sh
# Whether sum.sh adds up.
[ "$(sh sum.sh 1 2 3)" = 6 ] && [ "$(sh sum.sh)" = 0 ] && echo "all well"
