# Every command has its own help, and every topic that `errand help` lists is shown. check.sh ERRAND
set -e
"$1" help >help
sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z -]*[a-z]\)  .*/\1/p' help >commands
sed -n '/^Topics/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p' help >topics
test "$(wc -l <commands)" -ge 15
test "$(wc -l <topics)" -ge 15
while read -r command; do
  # shellcheck disable=SC2086  # its words
  "$1" $command --help >shown
  grep -q "^Usage: errand $command" shown
  # shellcheck disable=SC2086
  "$1" help $command >again
  head -n "$(wc -l <shown)" again | cmp - shown
done <commands
cut -d' ' -f1 commands | sort | uniq >groups
while read -r group; do
  if grep -qx "$group" commands; then continue; fi
  "$1" "$group" --help >shown
  grep -q "^Usage: errand $group COMMAND" shown
  "$1" help "$group" >again
  head -n "$(wc -l <shown)" again | cmp - shown
  test "$(grep -c "^  $group " shown)" = "$(grep -c "^$group " commands)"
done <groups
while read -r topic; do
  "$1" help "$topic" >shown
  test "$(wc -l <shown)" -ge 5
  if grep -qE '^\.|\\[-(&e]' shown; then exit 1; fi
done <topics
