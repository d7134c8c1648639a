#!/bin/sh
# Fails when a room includes one that the table does not allow, or a library that belongs to
# another. A room is a folder with sources; every room has its row.
cd "${1:-$(dirname "$0")/..}" || exit 1
houses="agent cli config providers tools"

# room: what it may include besides itself; a folder (without its inner rooms) or one header.
allowed() {
  cat <<'END'
agent: agent/schema
agent/schema: agent/json.h agent/result.h agent/text.h
agent/secrets: agent/base64.h agent/environment.h agent/json.h agent/text.h
agent/store: agent agent/secrets

config: agent agent/schema agent/secrets config/build config/yaml
config/build: agent agent/schema config/yaml config/attachment.h config/check.h config/expand.h config/keys.h config/known_names.h config/read.h config/shapes.h config/template.h
config/yaml: agent

providers: agent agent/secrets providers/wire providers/http providers/resilience providers/recording providers/prices
providers/wire: agent agent/schema agent/secrets providers/http/url.h
providers/http: agent
providers/resilience: agent
providers/recording: agent agent/schema agent/secrets
providers/prices: agent

tools: agent
tools/sandbox: agent
tools/web: agent
tools/files: agent tools tools/sandbox
tools/permissions: agent tools tools/files tools/web
tools/process: agent tools tools/sandbox tools/web
tools/builtin: agent agent/schema agent/secrets tools tools/files tools/process tools/web
tools/hooks: agent agent/secrets tools tools/permissions tools/process
tools/guardrails: agent agent/secrets tools tools/hooks tools/process
tools/runner: agent agent/schema agent/secrets tools tools/builtin tools/files tools/permissions tools/process

cli: *
cli/commands: *
cli/terminal: agent agent/secrets config config/yaml tools/questioner.h tools/runner/approval.h cli/output.h
cli/manual: agent config providers tools/builtin tools/hooks tools/process/harmless_variables.h tools/sandbox tools/web cli/help.h cli/options.h
END
}

# header prefix: the one room (with its inner rooms) that may include it.
libraries() {
  cat <<'END'
CLI/ cli
SQLiteCpp/ agent/store
curl/ providers/http
gumbo.h tools/web
openssl/ agent
re2/ agent config providers tools
seccomp.h tools/sandbox
spdlog/ cli/terminal
sqlite3 agent/store
yaml-cpp/ config/yaml
END
}

includes() {
  # shellcheck disable=SC2086  # a list of folders
  find $houses -name '*.h' -o -name '*.cpp' | sort | while read -r file; do
    sed -nE 's/^#include (["<])([^">]+)[">].*/\1 \2/p' "$file" | sed "s|^|$file |"
  done
}

{
  allowed | sed -n 's/^\([a-z/]*\): */arrow \1 /p'
  libraries | sed 's/^/library /'
  includes | sed 's/^/include /'
} | awk '
  function room_of(path) { sub("/[^/]*$", "", path); return path }
  function wrong(text) { print text; bad = 1 }
  $1 == "arrow" { rows[$2] = 1; for (i = 3; i <= NF; i++) arrows[$2, $i] = 1 }
  $1 == "library" { names[++count] = $2; for (i = 3; i <= NF; i++) owners[$2] = owners[$2] " " $i }
  $1 == "include" {
    room = room_of($2)
    if (!(room in rows)) { if (!told[room]++) wrong(room " has no row in the table of check_layers.sh"); next }
    if ($3 == "\"") {
      target = room_of($4)
      if (target != room && !((room, "*") in arrows) && !((room, target) in arrows) && !((room, $4) in arrows))
        wrong($2 ": " room " may not include " $4)
      next
    }
    for (i = 1; i <= count; i++) {
      if (index($4, names[i]) != 1) continue
      split(owners[names[i]], owner, " "); mine = 0
      for (k in owner) if (room == owner[k] || index(room, owner[k] "/") == 1) mine = 1
      if (!mine) wrong($2 ": only" owners[names[i]] " may include <" $4 ">")
    }
  }
  END { exit bad }'
