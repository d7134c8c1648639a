if test -e judged; then exit 0; fi
: >judged
echo "Say it kindly." >&2
exit 2
