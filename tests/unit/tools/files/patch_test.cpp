#include "tools/files/patch.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <string>

using agent::Code;
using tools::FilePatch;
using tools::parse_patch;
using Kind = tools::FilePatch::Kind;

namespace {

std::vector<FilePatch> parsed(std::string_view text) {
  auto files = parse_patch(text);
  INFO(text);
  INFO((files ? std::string() : files.error().message));
  REQUIRE(files);
  return std::move(*files);
}

// " a|-b|+c\": a bar between the lines, a backslash where a line ends the file.
std::string lines_of(const tools::Hunk& hunk) {
  std::string text;
  for (const tools::PatchLine& line : hunk.lines) {
    text += text.empty() ? "" : "|";
    text += line.mark;
    text += line.text;
    text += line.ends_file ? "\\" : "";
  }
  return text;
}

std::string error_of(std::string_view text) {
  const auto files = parse_patch(text);
  REQUIRE_FALSE(files);
  CHECK(files.error().code == Code::tool_invalid_parameters);
  CHECK_FALSE(files.error().help.empty());
  return files.error().message;
}

}  // namespace

TEST_CASE("patch: one as git writes it, with everything that can be said of a file", "[tools]") {
  const auto files = parsed(
      "A letter before it.\n"
      "\n"
      "diff --git a/src/a.c b/src/a.c\n"
      "index 1234567..89abcde 100644\n"
      "--- a/src/a.c\n"
      "+++ b/src/a.c\n"
      "@@ -1,3 +1,3 @@ int main()\n"
      " one\n"
      "-two\n"
      "+TWO\n"
      " three\n"
      "@@ -10 +10,2 @@\n"
      "-ten\n"
      "\\ No newline at end of file\n"
      "+10\n"
      "+11\n"
      "diff --git a/new.sh b/new.sh\n"
      "new file mode 100755\n"
      "--- /dev/null\n"
      "+++ b/new.sh\n"
      "@@ -0,0 +1 @@\n"
      "+#!/bin/sh\n"
      "diff --git a/old b/old\n"
      "deleted file mode 100644\n"
      "--- a/old\n"
      "+++ /dev/null\n"
      "@@ -1 +0,0 @@\n"
      "-x\n"
      "diff --git a/from here b/to there\n"
      "similarity index 100%\n"
      "rename from from here\n"
      "rename to to there\n"
      "diff --git a/mode b/mode\n"
      "old mode 100755\n"
      "new mode 100644\n"
      "diff --git a/empty b/empty\n"
      "new file mode 100644\n"
      "-- \n"
      "2.39.2\n");
  REQUIRE(files.size() == 6);
  CHECK(files[0].kind == Kind::modify);
  CHECK(files[0].path() == "src/a.c");
  REQUIRE(files[0].hunks.size() == 2);
  CHECK(files[0].hunks[0].line == 1);
  CHECK(lines_of(files[0].hunks[0]) == " one|-two|+TWO| three");
  CHECK(files[0].hunks[1].line == 10);
  CHECK(lines_of(files[0].hunks[1]) == "-ten\\|+10|+11");
  CHECK(files[1].kind == Kind::create);
  CHECK(files[1].old_path.empty());
  CHECK(files[1].new_path == "new.sh");
  CHECK(files[1].is_executable == true);
  CHECK(files[2].kind == Kind::remove);
  CHECK(files[2].path() == "old");
  CHECK(files[3].kind == Kind::rename);
  CHECK(files[3].old_path == "from here");
  CHECK(files[3].new_path == "to there");
  CHECK(files[3].hunks.empty());
  CHECK(files[4].kind == Kind::modify);
  CHECK(files[4].is_executable == false);
  CHECK(files[5].kind == Kind::create);
  CHECK(files[5].new_path == "empty");
}

TEST_CASE("patch: how a file is named", "[tools]") {
  struct Row {
    const char* header;
    const char* path;
  };
  const auto row = GENERATE(values<Row>({
      {"--- a/x\n+++ b/x\n", "x"},
      {"--- x\n+++ x\n", "x"},
      {"--- a/x\n+++ a/x\n", "a/x"},
      {"--- /dev/null\n+++ b/x\n", "x"},
      {"--- /dev/null\n+++ new/x\n", "new/x"},
      {"--- a/x\n+++ /dev/null\n", "x"},
      {"--- a/x y.txt\t2026-01-02 03:04:05\n+++ b/x y.txt\t2026-01-02\n", "x y.txt"},
      {"--- /abs/x\n+++ /abs/x\n", "/abs/x"},
      {"--- \"a/\\303\\244 \\\"\\t\"\n+++ \"b/\\303\\244 \\\"\\t\"\n", "\xC3\xA4 \"\t"},
      {"diff --git a/x b/x\n--- a/x\n+++ b/x\n", "x"},
      {"diff --git x x\nnew file mode 100644\n", "x"},
      {"diff --git \"a/\\n\" \"b/\\n\"\nnew file mode 100644\n", "\n"},
      {"Index: x\n=====\n--- x\n+++ x\n", "x"},
      {"```diff\n--- a/x\n+++ b/x\n", "x"},
  }));
  CHECK(parsed(std::string(row.header) + "@@ -1 +1 @@\n-1\n+2\n").front().path() == row.path);
}

TEST_CASE("patch: the numbers of a hunk may be wrong or missing", "[tools]") {
  struct Row {
    const char* hunks;
    std::vector<std::string> lines;
  };
  const auto row = GENERATE(values<Row>({
      {"@@ -1,9 +1,7 @@\n a\n-b\n+c\n", {" a|-b|+c"}},
      {"@@ -1 +1 @@\n a\n-b\n+c\n d\n", {" a|-b|+c| d"}},
      {"@@\n-b\n+c\n@@ int f() @@\n-d\n", {"-b|+c", "-d"}},
      {"@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", {" a| |-b|+c"}},    // a blank got lost
      {"@@ -1,9 +1 @@\n a\n\n-b\n+c\n\n\n", {" a| |-b|+c"}},  // and what ends the patch is none
      {"@@ -1 +1 @@\n-b\n+c\n```\n", {"-b|+c"}},
      {"@@ -1,2 +1 @@\n--- x\n-b\n+++ y\n", {"--- x|-b|+++ y"}},  // lines that look like headers
      {"@@ -1 +1,2 @@\n--- x\n+++ y\n+z\n", {"--- x|+++ y|+z"}},
      {"@@ -1 +1 @@\n-b\n+c\n-- \n2.39\n", {"-b|+c"}},
  }));
  const std::string text = std::string("--- a/x\n+++ b/x\n") + row.hunks;  // has to outlive them
  const auto files = parsed(text);
  REQUIRE(files.size() == 1);
  REQUIRE(files[0].hunks.size() == row.lines.size());
  for (std::size_t at = 0; at < row.lines.size(); ++at) {
    CHECK(lines_of(files[0].hunks[at]) == row.lines[at]);
  }
}

TEST_CASE("patch: two plain files in a row, the numbers wrong", "[tools]") {
  const auto files = parsed(
      "--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n-1\n+2\n--- a/y\n+++ b/y\n@@ -1,7 +1,7 @@\n-3\n+4\n");
  REQUIRE(files.size() == 2);
  CHECK(lines_of(files[0].hunks[0]) == "-1|+2");
  CHECK(files[1].path() == "y");
}

TEST_CASE("patch: a patch that was sent with CR LF has none", "[tools]") {
  CHECK(lines_of(parsed("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-1\r\n+2")[0].hunks[0]) == "-1|+2");
  CHECK(lines_of(parsed("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-1\r\n+2\r\n")[0].hunks[0]) ==
        "-1|+2");
  CHECK(lines_of(parsed("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\r\n+2\r\n")[0].hunks[0]) == "-1\r|+2\r");
}

TEST_CASE("patch: what is none says where and why", "[tools]") {
  struct Row {
    const char* text;
    const char* why;
  };
  const auto row = GENERATE(values<Row>({
      {"", "changes no file"},
      {"*** Begin Patch\n*** Update File: x\n", "changes no file"},
      {"@@ -1 +1 @@\n-1\n+2\n", "line 1 of the patch: a hunk without the file's"},
      {"--- a/x\n+++ b/x\n", "from line 1 on has no hunks"},
      {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n", "line 3 of the patch: this hunk changes nothing"},
      {"--- a/x\n+++ b/x\n@@ -x +1 @@\n-a\n", "line 3 of the patch: this header of a hunk"},
      {"--- a/x\n+++ b/x\n@@ -9999999999 +1 @@\n-a\n", "line 3 of the patch: this header"},
      {"--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n-a\n", "line 3 of the patch: this header of a hunk"},
      {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nint c;\n",
       "line 6 of the patch: this is not a line of"},
      {"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n", "names two files, `x` and `y`"},
      {"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n", "does not name a file"},
      {"--- \n+++ b/x\n@@ -1 +1 @@\n-a\n", "line 1 of the patch: here or in the next line"},
      {"--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n", "line 1 of the patch: here or in the next line"},
      {"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "line 2 of the patch: copies and"},
      {"diff --git a/x b/x\nGIT binary patch\nliteral 0\n", "line 2 of the patch: copies and"},
      {"diff --git a/x b/y\ncopy from x\ncopy to y\n", "line 2 of the patch: copies and"},
      {"diff --git a/x b/x\nnew file mode 120000\n", "line 2 of the patch: only regular files"},
      {"diff --git a/x b/x\nrename from x\n", "has no hunks"},
      {"diff --git a/x b/y\nindex 1..2\n", "does not name a file"},
  }));
  INFO(row.text);
  CHECK_THAT(error_of(row.text), Catch::Contains(row.why));
}

TEST_CASE("patch: at most a hundred files", "[tools]") {
  std::string text;
  const auto add = [&](std::size_t number) {
    text += fmt::format("--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-1\n+2\n", number);
  };
  for (std::size_t number = 0; number < tools::k_max_patch_files; ++number) {
    add(number);
  }
  CHECK(parsed(text).size() == 100);
  add(100);
  CHECK(error_of(text) == "the patch changes more than 100 files");
}
