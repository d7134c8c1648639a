#!/bin/sh
# Fails when a folder includes one that the picture in the README does not allow, or a library that
# belongs to another.
cd "${1:-$(dirname "$0")/..}" || exit 1
bad=0
report() {
  if [ -n "$2" ]; then
    printf '%s:\n%s\n' "$1" "$2"
    bad=1
  fi
}
forbid() {
  report "$1 may not include $2" \
    "$(grep -rnE --include='*.h' --include='*.cpp' "#include \"($2)/" "$1")"
}
only() {
  report "only $1 may include $2" \
    "$(grep -rnE --include='*.h' --include='*.cpp' "#include <($2)" agent cli config providers tools |
      grep -v "^$1/")"
}
forbid agent 'cli|config|providers|tools'
forbid config 'cli|providers|tools|agent/store'
forbid providers 'cli|config|tools|agent/store'
forbid tools 'cli|config|providers|agent/store'
report "agent may not include agent/store" \
  "$(grep -nE '#include "agent/store/' agent/*.h agent/*.cpp 2>/dev/null)"
only cli 'CLI/|spdlog/'
only config 'yaml-cpp/'
only providers 'curl/'
report "tools/sandbox may include nothing else of tools" \
  "$(grep -nE '#include "tools/[a-z_]+\.h"' tools/sandbox/*.h tools/sandbox/*.cpp 2>/dev/null)"
only tools/sandbox 'seccomp\.h'
only tools 'gumbo\.h'
only agent/store 'SQLiteCpp/|sqlite3'
exit $bad
