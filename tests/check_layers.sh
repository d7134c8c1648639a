#!/bin/sh
# Fails when a folder includes one that the picture in the README does not allow.
cd "${1:-$(dirname "$0")/..}" || exit 1
bad=0
forbid() {
  found=$(find $1 -name '*.h' -o -name '*.cpp' | xargs grep -nE "#include \"($2)/" /dev/null)
  if [ -n "$found" ]; then
    printf '%s may not include %s:\n%s\n' "$1" "$2" "$found"
    bad=1
  fi
}
outside() {
  found=$(find agent cli config providers tools -name '*.h' -o -name '*.cpp' | grep -vE "^($1)" |
    xargs grep -nE "#include <($2)" /dev/null)
  if [ -n "$found" ]; then
    printf 'only %s may include %s:\n%s\n' "$1" "$2" "$found"
    bad=1
  fi
}
forbid agent 'cli|config|providers|tools'
forbid config 'cli|providers|tools|agent/store'
forbid providers 'cli|config|tools|agent/store'
forbid tools 'cli|config|providers|agent/store'
found=$(find agent -maxdepth 1 -name '*.h' -o -maxdepth 1 -name '*.cpp' | xargs grep -n '#include "agent/store/' /dev/null)
if [ -n "$found" ]; then
  printf 'agent may not include agent/store:\n%s\n' "$found"
  bad=1
fi
outside 'cli/' 'CLI/|spdlog/'
outside 'config/' 'yaml-cpp/'
outside 'providers/' 'curl/'
outside 'agent/store/' 'SQLiteCpp/|sqlite3'
exit $bad
