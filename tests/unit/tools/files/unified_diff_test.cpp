#include "tools/files/unified_diff.h"

#include "tools/files/patch.h"
#include "tools/files/patched_text.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <random>
#include <stop_token>
#include <string>

namespace {

std::string numbers(int from, int to) {
  std::string text;
  for (int number = from; number <= to; ++number) {
    text += fmt::format("{}\n", number);
  }
  return text;
}

std::string applied(const std::string& old_text, const std::string& diff) {
  const auto files = tools::parse_patch(diff);
  REQUIRE(files);
  const auto patched = tools::patched_text(old_text, files->front().hunks, "x", std::stop_token());
  REQUIRE(patched);
  return patched->content;
}

TEST_CASE("unified_diff: what stays around a change is three lines", "[tools]") {
  const std::string old_text = numbers(1, 30);
  std::string new_text = old_text;
  new_text.replace(new_text.find("\n10\n") + 1, 2, "ten");
  new_text.replace(new_text.find("\n17\n") + 1, 3, "");
  CHECK(
      tools::unified_diff("a", old_text, "b", new_text) ==
      "--- a\n+++ b\n@@ -7,14 +7,13 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n 14\n 15\n 16\n-17\n"
      " 18\n 19\n 20\n");
  new_text.replace(new_text.find("\n25\n") + 1, 2, "x");
  CHECK(tools::unified_diff("a", old_text, "b", new_text)
            .ends_with("@@ -22,7 +21,7 @@\n 22\n 23\n 24\n-25\n+x\n 26\n 27\n 28\n"));
}

TEST_CASE("unified_diff: files that come and go, and ends without a line end", "[tools]") {
  CHECK(tools::unified_diff("/dev/null", "", "b", "x\n") ==
        "--- /dev/null\n+++ b\n@@ -0,0 +1,1 @@\n+x\n");
  CHECK(tools::unified_diff("a", "x\n", "/dev/null", "") ==
        "--- a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
  CHECK(tools::unified_diff("a", "x", "a", "x\n") ==
        "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+x\n");
  CHECK(tools::unified_diff("a", "x", "a", "x").empty());
}

TEST_CASE("unified_diff: as a patch it makes the new text of the old", "[tools]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string old_text;
    std::string new_text;
    for (int line = 0; line < 40; ++line) {
      const std::string text = fmt::format("{} {}\n", line, random() % 3);
      const auto fate = random() % 10;
      old_text += fate != 0 ? text : "";
      new_text += fate == 1 ? "" : fate == 2 ? "other\n" + text : text;
    }
    const std::string diff = tools::unified_diff("a/x", old_text, "b/x", new_text);
    INFO(diff);
    CHECK((diff.empty() ? old_text : applied(old_text, diff)) == new_text);
  }
}

TEST_CASE("unified_diff: texts without a line in common are shown whole, and soon", "[tools]") {
  std::string old_text;
  std::string new_text;
  for (int line = 0; line < 100'000; ++line) {
    old_text += fmt::format("old {}\n", line);
    new_text += fmt::format("new {}\n", line);
  }
  const std::string diff = tools::unified_diff("a", old_text, "b", new_text);
  CHECK(diff.starts_with("--- a\n+++ b\n@@ -1,100000 +1,100000 @@\n-old 0\n-old 1\n"));
  CHECK(diff.ends_with("+new 99998\n+new 99999\n"));
}

}  // namespace

TEST_CASE("unified diff: a name shows its control characters", "[tools]") {
  CHECK(tools::diff_name("src/a b.c") == "src/a b.c");
  CHECK(tools::diff_name("a\tb\x01"
                         "c\nd") == R"("a\tb\u0001c\nd")");
  CHECK(tools::diff_name("a\x1b[2Jb") == R"("a\u001b[2Jb")");
  CHECK(tools::diff_name(R"(a"b\c)") == R"("a\"b\\c")");
}
