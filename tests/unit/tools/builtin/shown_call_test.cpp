#include "tools/builtin/shown_call.h"

#include "tools/builtin/registry.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("shown call: as a person would write it", "[tools]") {
  struct Row {
    std::string name;
    std::string arguments;
    std::string shown;
  };
  const auto row = GENERATE(values<Row>({
      {"shell", R"({"command": "make test", "timeout": 5})", "shell  make test"},
      {"shell",
       R"({"command": "rm -f junk\necho x\r\n\nls\n"})",
       "shell  rm -f junk ⏎ echo x ⏎  ⏎ ls"},
      {"nosuch", "[\n1]\n", "nosuch  [ ⏎ 1]"},
      {"read_file", R"({"path": "src/a.c"})", "read_file  src/a.c"},
      {"read_file", R"({"path": "a", "offset": 1, "limit": 40})", "read_file  a:1-40"},
      {"read_file", R"({"path": "a", "offset": 41, "limit": 40})", "read_file  a:41-80"},
      {"read_file", R"({"path": "a", "offset": 7})", "read_file  a:7-"},
      {"read_file",
       R"({"path": "a", "offset": 9223372036854775807, "limit": 9223372036854775807})",
       "read_file  a:9223372036854775807-"},
      {"edit_file", R"({"path": "a.c", "old_string": "x", "new_string": "y"})", "edit_file  a.c"},
      {"write_file", R"({"path": "a.c", "content": "x"})", "write_file  a.c"},
      {"grep",
       R"({"pattern": "to do", "path": "src", "glob": "*.c"})",
       "grep  to do in src, only *.c"},
      {"glob", R"({"pattern": "**/*.c"})", "glob  **/*.c"},
      {"git_commit",
       R"({"message": "Fix it\n\nWhy.", "paths": ["a.c", "b c"]})",
       "git_commit  Fix it a.c \"b c\""},
      {"git_switch", R"({"branch": "fix", "create": true})", "git_switch  fix (new)"},
      {"apply_patch",
       R"({"patch": "--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\n"})",
       "apply_patch  x.c"},
      {"apply_patch", R"({"patch": "nothing"})", "apply_patch  (a patch that cannot be read)"},
      {"todo",
       R"({"items": [{"content": "a", "status": "completed"},
                     {"content": "b", "status": "in_progress"}]})",
       "todo  1 of 2 done, now: b"},
      {"todo", R"({"items": [1, "x"]})", "todo  0 of 2 done"},
      {"shell", R"({"cmd": "ls -l", "deep": {"a": [1]}})", R"(shell  cmd="ls -l" deep={"a":[1]})"},
      {"weather", R"({"city": "New York", "days": 3})", "weather  city=\"New York\" days=3"},
      {"weather", "{}", "weather"},
      {"weather", "{\"cut", "weather  {\"cut"},
      {"shell", "[1]", "shell  [1]"},
  }));
  INFO(row.name << " " << row.arguments);
  CHECK(tools::shown_call(row.name, row.arguments) == row.shown);
}

TEST_CASE("shown call: a long value is cut where it is one of several", "[tools]") {
  const std::string shown =
      tools::shown_call("x", R"({"text": ")" + std::string(500, 'a') + R"(", "n": 1})");
  CHECK(shown == "x  text=" + std::string(57, 'a') + "… n=1");
}

TEST_CASE("shown call: every row says how, and takes any arguments", "[tools]") {
  for (const tools::Builtin& row : tools::builtins()) {
    INFO(row.name);
    REQUIRE(row.shown != nullptr);
    for (const char* arguments : {"{}", R"({"path": 1, "command": [], "items": {}, "paths": 2})"}) {
      CHECK(tools::shown_call(row.name, arguments).starts_with(row.name));
    }
  }
}
