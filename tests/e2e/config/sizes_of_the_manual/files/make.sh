agent='version: 1
name: sizes
model: replay/most.replay.yaml
instructions: Say hello.
'
script='version: 1
replies: [{text: Hello.}]
'
blanks() { head -c "$1" /dev/zero | tr '\0' '#'; }
sized() { # FILE BYTES TEXT
  { printf '%s' "$3"; blanks $(($2 - ${#3} - 1)); echo; } >"$1"
}
printf '%s' "$agent" >small.yaml
sized most.yaml 1048576 "$agent"
sized more.yaml 1048577 "$agent"
sized most.replay.yaml 16777216 "$script"
sized more.replay.yaml 16777217 "$script"
aliases() { # COUNT: that many texts of 512 KiB, the first one written out
  printf '%sx-texts:\n  - &text "' "$agent"; blanks 524288; echo '"'
  for _ in $(seq 2 "$1"); do echo '  - *text'; done
}
aliases 7 >texts.yaml
aliases 8 >more_texts.yaml
numbers() { printf '%sx-values: [' "$agent"; for _ in $(seq 1 "$1"); do printf '1,'; done; echo ']'; }
numbers 19900 >values.yaml
numbers 20000 >more_values.yaml
nested() { printf '%sx-deep: ' "$agent"; printf '[%.0s' $(seq 1 "$1"); printf ']%.0s' $(seq 1 "$1"); echo; }
nested 60 >deep.yaml
nested 65 >deeper.yaml
