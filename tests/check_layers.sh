#!/bin/sh
# Fails when a room includes one that the table does not allow, or a library that belongs to another; when a
# source is in no room, has another name than .h or .cpp, or has an #include that cannot be read; and when a
# unit test is not where its unit is. A room is a folder with sources; every room has its row.
cd "${1:-$(dirname "$0")/..}" || exit 1
houses="agent cli config providers tools"

# room: what it may include besides itself; a folder (without its inner rooms) or one header.
allowed() {
  cat <<'END'
agent: agent/schema
agent/flow: agent
agent/schema: agent/json.h agent/result.h agent/text.h
agent/secrets: agent/base64.h agent/environment.h agent/json.h agent/text.h
agent/store: agent agent/secrets

config: agent agent/flow agent/schema agent/secrets config/build config/yaml
config/build: agent agent/flow agent/schema config/yaml config/attachment.h config/check.h config/expand.h config/keys.h config/known_names.h config/named_files.h config/read.h config/shapes.h config/template.h
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
tools/oauth: agent agent/secrets tools/mcp/authorizer.h tools/web
tools/files: agent tools tools/sandbox
tools/permissions: agent tools tools/files tools/web
tools/process: agent tools tools/sandbox tools/web
tools/builtin: agent agent/schema agent/secrets tools tools/files tools/hooks/kept_modules.h tools/process tools/web
tools/hooks: agent agent/secrets tools tools/permissions tools/process tools/sandbox/way.h
tools/guardrails: agent agent/secrets tools tools/hooks tools/process
tools/checks: agent agent/secrets tools tools/files tools/hooks tools/permissions/command_line.h tools/permissions/shell_script.h tools/process tools/runner/fence.h tools/sandbox/policy.h
tools/mcp: agent agent/schema agent/secrets tools tools/hooks/kept_modules.h tools/permissions/text_pattern.h tools/process tools/runner
tools/runner: agent agent/schema agent/secrets tools tools/builtin tools/files tools/permissions tools/process

cli: *
cli/commands: *
cli/serve: *
cli/terminal: agent agent/secrets config config/yaml tools/questioner.h tools/builtin/shown_call.h tools/runner/approval.h cli/output.h
cli/manual: agent config providers tools/builtin tools/hooks tools/process/harmless_variables.h tools/sandbox tools/web cli/help.h cli/options.h
END
}

# header prefix: the rooms (with their inner rooms) that may include it; * is all of them. The headers of C++, which
# have neither a dot nor a slash, need no row.
libraries() {
  cat <<'END'
CLI/ cli
SQLiteCpp/ agent/store
curl/ providers/http
fmt/ *
gumbo.h tools/web
iconv.h tools/web
nlohmann/ *
openssl/ agent
re2/ agent config providers tools
seccomp.h tools/sandbox
sqlite3.h agent/store
yaml-cpp/ config/yaml
zlib.h providers/wire
arpa/inet.h *
dirent.h *
fcntl.h *
linux/ tools
malloc.h cli tools/process
net/if.h tools
netinet/in.h *
poll.h *
pthread.h *
pwd.h *
sched.h tools
spawn.h cli
stdio.h tools/files
sys/ *
termios.h cli
unistd.h *
END
}

# What a folder with C++ holds beside the rooms, and the unit tests that are about no one unit.
others() {
  cat <<'END'
bench
cmake
tests/fuzz
tests/yaml
tests/support
tests/crash/points.cpp
tests/e2e/journal_fold.cpp
tests/unit/agent/step_by_process_test.cpp
tests/unit/cli/documents_test.cpp
tests/unit/cli/waits_test.cpp
tests/unit/config/hostile_test.cpp
tests/unit/providers/http/address_filter_test.cpp
tests/unit/providers/http/loopback_server.cpp
tests/unit/providers/wire/attachments_test.cpp
tests/unit/providers/wire/contradictions_test.cpp
tests/unit/providers/wire/demands_test.cpp
tests/unit/providers/wire/endings_test.cpp
tests/unit/providers/wire/plain_reply_test.cpp
tests/unit/providers/wire/prefix_test.cpp
tests/unit/providers/wire/recordings_test.cpp
tests/unit/tools/guardrails/guardrails_loop_test.cpp
tests/unit/tools/permissions/denied_places_test.cpp
tests/unit/tools/runner/swapped_path_test.cpp
tests/unit/tools/sandbox/files_test.cpp
providers/prices/prices.txt
END
}

# Every file, but what is built, and what end-to-end cases and attacks are made of.
files() {
  find . \( -path ./build -o -path ./.git -o -path './tests/e2e/*/*' -o -path './tests/attacks/*' -o -name __pycache__ \) \
    -prune -o -type f -print | sed 's|^\./||' | sort
}

includes() {
  # shellcheck disable=SC2086  # a list of folders
  find $houses -type f -exec grep -nE '(#|%:|\?\?=).*(include|import|embed)|^[[:space:]]*(export[[:space:]]+)?import[[:space:]]' /dev/null {} +
}

{
  allowed | sed -n 's/^\([a-z/]*\): */arrow \1 /p'
  libraries | sed 's/^/library /'
  others | sed 's/^/other /'
  files | sed 's/^/file /'
  includes | sed 's/^/line /'
} | awk -v houses="$houses" '
  function room_of(path) { return sub("/[^/]*$", "", path) ? path : "." }
  function wrong(text) { print text; bad = 1 }
  function is_within(room, outer) { return outer == "*" || room == outer || index(room, outer "/") == 1 }

  function look_at_file(path, room, name, top) {
    room = room_of(path); top = path; sub("/.*", "", top)
    if (path in other || room in other) {
      if (path ~ /\.(c|cc|cxx|hh|hpp|hxx|inl|ipp|inc|tcc|ixx|cppm)$/) wrong(path ": a source is called .h or .cpp")
      return
    }
    if (index(" " houses " ", " " top " ")) {
      if (!(room in rows)) { if (!told[room]++) wrong(room " has no row in the table of check_layers.sh") }
      else if (path !~ /\.(h|cpp)$/) wrong(path ": a source is called .h or .cpp, and nothing else has its row")
      return
    }
    if (path !~ /\.(c|cc|cpp|cxx|h|hh|hpp|hxx|inl|ipp|inc|tcc|ixx|cppm)$/) return
    if (room !~ /^tests\/unit\//) { wrong(path ": there is no room for sources here"); return }
    sub("^tests/unit/", "", room)
    if (!(room in rows)) { wrong(path ": there is no room " room); return }
    if (path ~ /_support\.h$|_cases\.h$/ || path ~ /\.h$/ && (substr(path, 1, length(path) - 1) "cpp") in other) return
    name = path; sub(".*/", "", name)
    if (!sub(/_test\.cpp$/, "", name)) wrong(path ": a unit test is called NAME_test.cpp")
    else if (!((room "/" name ".h") in exists || (room "/" name ".cpp") in exists))
      wrong(path ": " room " has no " name ".h and no " name ".cpp")
  }

  function look_at_include(path, number, text, room, target, i, owner, k, count_of, mine) {
    if (text !~ /^#include ("[a-z0-9_.\/]+\.h"|<[A-Za-z0-9_.\/+-]+>)( *\/\/.*)?$/) {
      wrong(path ":" number ": this cannot be read: " text)
      return
    }
    room = room_of(path); target = text; sub(/^#include ["<]/, "", target); sub(/[">].*/, "", target)
    if (!(room in rows)) return
    if (text ~ /^#include "/) {
      if (room_of(target) != room && !((room, "*") in arrows) && !((room, room_of(target)) in arrows) &&
          !((room, target) in arrows))
        wrong(path ": " room " may not include " target)
      return
    }
    if (target !~ /[.\/]/) return
    for (i = 1; i <= count; i++) {
      if (names[i] ~ /\/$/ ? index(target, names[i]) != 1 : target != names[i]) continue
      count_of = split(owners[names[i]], owner, " "); mine = 0
      for (k = 1; k <= count_of; k++) mine = mine || is_within(room, owner[k])
      if (!mine) wrong(path ": only" owners[names[i]] " may include <" target ">")
      return
    }
    wrong(path ": <" target "> has no row in the table of check_layers.sh")
  }

  $1 == "arrow" { rows[$2] = 1; for (i = 3; i <= NF; i++) arrows[$2, $i] = 1 }
  $1 == "library" { names[++count] = $2; for (i = 3; i <= NF; i++) owners[$2] = owners[$2] " " $i }
  $1 == "other" { other[$2] = 1 }
  $1 == "file" { path = substr($0, 6); paths[++files] = path; exists[path] = 1 }
  $1 == "line" {
    match($0, /:[0-9]+:/)
    look_at_include(substr($0, 6, RSTART - 6), substr($0, RSTART + 1, RLENGTH - 2), substr($0, RSTART + RLENGTH))
  }
  END { for (i = 1; i <= files; i++) look_at_file(paths[i]); exit bad }'
