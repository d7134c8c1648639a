# Stopped once, it says so, and takes a moment for it; the next time it is well.
if [ -e "at-$1" ]; then echo well >>"$1"; exit; fi
trap 'sleep 0.3; echo stopped >>"$1"; exit 1' TERM
touch "at-$1"
while :; do sleep 0.05; done
