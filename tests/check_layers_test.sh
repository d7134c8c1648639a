#!/bin/sh
# The layer check must fail on an arrow that is not drawn, or it proves nothing.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/agent/store" "$tree/cli/commands" "$tree/config/yaml" "$tree/providers" "$tree/tools/sandbox" \
  "$tree/tools/files"

# expect allowed|refused FILE LINE: what the check says of a file with that one line.
expect() {
  mkdir -p "$(dirname "$tree/$2")"
  printf '%s\n' "$3" >"$tree/$2"
  if "$here/check_layers.sh" "$tree" >/dev/null; then got=allowed; else got=refused; fi
  rm "$tree/$2"
  if [ "$got" != "$1" ]; then
    echo "check_layers_test: $2 with $3 should be $1" >&2
    exit 1
  fi
}

expect allowed tools/a.cpp '#include "agent/error.h"'
expect refused tools/a.cpp '#include "config/load.h"'
expect refused agent/a.h '#include "agent/store/sqlite_journal.h"'
expect refused agent/a.h '#include "tools/tool.h"'
expect allowed tools/sandbox/a.h '#include "tools/sandbox/layers.h"'
expect refused tools/sandbox/a.h '#include "tools/process/supervisor.h"'
expect allowed tools/files/a.h '#include "tools/sandbox/policy.h"'
expect refused tools/files/a.h '#include "tools/process/supervisor.h"'
expect allowed config/build/a.h '#include "config/keys.h"'
expect refused config/build/a.h '#include "config/load.h"'
expect allowed cli/commands/a.cpp '#include "providers/wire/wire.h"'

# Whichever way it is written.
expect allowed agent/a.h '#include "agent/error.h"  // the policy'
expect refused agent/a.h '#include <tools/tool.h>'
expect refused agent/a.h '#  include "tools/tool.h"'
expect refused agent/a.h '  #include "tools/tool.h"'
expect refused agent/a.h '/**/ #include "tools/tool.h"'
expect refused agent/a.h '#include"tools/tool.h"'
expect refused agent/a.h '#include "../tools/tool.h"'
expect refused agent/a.h '#include "agent/../tools/tool.h"'
expect refused agent/a.h '#include "agent/error.cpp"'
expect refused agent/a.h '#include TOOL'
expect refused agent/a.h '#include_next "tools/tool.h"'
expect refused agent/a.h '%:include "tools/tool.h"'
expect refused agent/a.h 'import <tools/tool.h>;'

# Libraries: a row says who has them.
expect allowed tools/b.h '#include <string_view>'
expect allowed tools/b.h '#include <sys/stat.h>'
expect allowed tools/b.h '#include <nlohmann/json.hpp>'
expect refused tools/b.h '#include <curl/curl.h>'
expect refused config/b.h '#include <yaml-cpp/yaml.h>'
expect allowed config/yaml/b.h '#include <yaml-cpp/yaml.h>'
expect refused tools/b.h '#include <boost/asio.hpp>'
expect refused tools/b.h '#include <openssl.h>'

# Sources where there is no room for them.
expect refused tools/unknown_room/a.h ''
expect refused tools/a.hpp '#include "config/load.h"'
expect refused tools/a.cc ''
expect refused tools/a.txt ''
expect refused utils/a.cpp ''
expect refused a.cpp ''
expect allowed bench/a.cpp ''
expect refused bench/a.cc ''
expect allowed utils/a.md ''

# Unit tests where their unit is.
mkdir -p "$tree/tools/web" && touch "$tree/tools/web/url.h"
expect allowed tests/unit/tools/web/url_test.cpp ''
expect refused tests/unit/tools/url_test.cpp ''
expect refused tests/unit/tools/files/url_test.cpp ''
expect refused tests/unit/tools/web/url_tests.cpp ''
expect refused tests/unit/utils/url_test.cpp ''
expect refused tests/unit/url_test.cpp ''
expect allowed tests/unit/tools/web/web_support.h ''
