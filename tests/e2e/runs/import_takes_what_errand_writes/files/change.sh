# change.sh OLD NEW: the run of reviewed.jsonl with that in place of the other.
sed "s|$1|$2|g" reviewed.jsonl >changed.jsonl
! cmp -s reviewed.jsonl changed.jsonl
