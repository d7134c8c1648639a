# Every script that a manual page shows, as a reader would copy it, is one that the shell takes.
# check.sh ERRAND FOLDER_OF_PAGES
for page in "$2"/*; do
  "$1" man "$(basename "$page")" | mandoc -T utf8 -O width=200 | col -bx |
    awk -v page="$(basename "$page")" '
      /^ *#!\/bin\/sh$/ { script = page "." ++count ".sh"; match($0, /#/); indent = RSTART }
      script && /^$/ { script = "" }
      script { print substr($0, indent) > script }'
done
for script in *.[0-9].*.sh; do
  sh -n "$script" || exit 1
done
guard=$(grep -l terraform errand-hooks.7.*.sh) || exit 1
printf '{"tool_input":{"command":"terraform destroy"}}' | sh "$guard" 2>said
test $? = 2 && grep -q 'Ask a person' said && printf '{"command":"ls"}' | sh "$guard"
