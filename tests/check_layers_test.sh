#!/bin/sh
# The layer check must fail on an arrow that is not drawn, or it proves nothing.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/agent/store" "$tree/cli/commands" "$tree/config/yaml" "$tree/providers" "$tree/tools/sandbox" \
  "$tree/tools/files"

# expect allowed|refused FILE INCLUDE: what the check says of that one include.
expect() {
  mkdir -p "$(dirname "$tree/$2")"
  printf '#include %s\n' "$3" >"$tree/$2"
  if "$here/check_layers.sh" "$tree" >/dev/null; then got=allowed; else got=refused; fi
  rm "$tree/$2"
  if [ "$got" != "$1" ]; then
    echo "check_layers_test: $2 -> $3 should be $1" >&2
    exit 1
  fi
}

expect allowed tools/a.cpp '"agent/error.h"'
expect refused tools/a.cpp '"config/load.h"'
expect refused agent/a.h '"agent/store/sqlite_journal.h"'
expect refused agent/a.h '"tools/tool.h"'
expect allowed tools/sandbox/a.h '"tools/sandbox/layers.h"'
expect refused tools/sandbox/a.h '"tools/process/process.h"'
expect allowed tools/files/a.h '"tools/sandbox/policy.h"'
expect refused tools/files/a.h '"tools/process/process.h"'
expect allowed config/build/a.h '"config/keys.h"'
expect refused config/build/a.h '"config/load.h"'
expect allowed cli/commands/a.cpp '"providers/wire/wire.h"'
expect refused tools/b.h '<curl/curl.h>'
expect refused config/b.h '<yaml-cpp/yaml.h>'
expect allowed config/yaml/b.h '<yaml-cpp/yaml.h>'
expect refused tools/unknown_room/a.h '"agent/error.h"'
