if test -e judged; then exit 0; fi
: >judged
sleep 60
