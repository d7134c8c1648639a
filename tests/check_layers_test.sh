#!/bin/sh
# The layer check must fail on an arrow that is not drawn, or it proves nothing.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/agent/store" "$tree/cli" "$tree/config" "$tree/providers" "$tree/tools"

expect() {
  if "$here/check_layers.sh" "$tree" >/dev/null; then got=allowed; else got=refused; fi
  if [ "$got" != "$1" ]; then
    echo "check_layers_test: $2 should be $1" >&2
    exit 1
  fi
}

expect allowed "an empty house"
echo '#include "agent/error.h"' >"$tree/tools/a.cpp"
expect allowed "tools -> agent"
echo '#include "config/load.h"' >"$tree/tools/a.cpp"
expect refused "tools -> config"
rm "$tree/tools/a.cpp"
mkdir "$tree/tools/sandbox"
echo '#include "tools/descriptor.h"' >"$tree/tools/sandbox/a.h"
expect allowed "tools/sandbox -> tools/descriptor.h"
echo '#include "tools/process.h"' >"$tree/tools/sandbox/a.h"
expect refused "tools/sandbox -> tools"
rm "$tree/tools/sandbox/a.h"
echo '#include "agent/store/sqlite_journal.h"' >"$tree/agent/a.h"
expect refused "agent -> agent/store"
rm "$tree/agent/a.h"
echo '#include <curl/curl.h>' >"$tree/tools/b.h"
expect refused "curl outside providers"
