#include "tools/files/patched_text.h"

#include "tests/support/linear.h"
#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <stop_token>
#include <string>

using agent::Code;
using agent::Result;

namespace {

Result<tools::PatchedText> patched(std::string_view content,
                                   const std::string& hunks,
                                   const std::stop_token& stop = {}) {
  const std::string patch = "--- a/f\n+++ b/f\n" + hunks;
  const auto files = tools::parse_patch(patch);
  REQUIRE(files);
  return tools::patched_text(content, files->front().hunks, "f", stop);
}

std::string text(std::string_view content, const std::string& hunks) {
  const auto done = patched(content, hunks);
  return done ? done->content : done.error().message;
}

constexpr const char* k_ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

}  // namespace

TEST_CASE("patched_text: changes what the hunks name and nothing else", "[tools]") {
  CHECK(text(k_ten, "@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n@@ -9,2 +9,3 @@\n 9\n+9.5\n 10\n") ==
        "1\n2\nthree\n4\n5\n6\n7\n8\n9\n9.5\n10\n");
  CHECK(text("a\n", "@@ -1 +0,0 @@\n-a\n").empty());
  CHECK(text("", "@@ -0,0 +1,2 @@\n+a\n+b\n") == "a\nb\n");
  CHECK(text("x\n\nx\n", "@@ -2,2 +2,2 @@\n\n-x\n+y\n") == "x\n\ny\n");
  const auto odd = std::string("\xff\0\n1\n", 5);
  CHECK(text(odd, "@@ -2 +2 @@\n-1\n+2\n") == std::string("\xff\0\n2\n", 5));
}

TEST_CASE("patched_text: line numbers may be off where the lines are unique", "[tools]") {
  const auto done =
      patched(k_ten, "@@ -5,2 +5,2 @@\n 2\n-3\n+three\n@@ -12,2 +12,2 @@\n 9\n-10\n+ten\n");
  REQUIRE(done);
  CHECK(done->content == "1\n2\nthree\n4\n5\n6\n7\n8\n9\nten\n");
  CHECK(done->lines == std::vector<std::size_t>{2, 9});
  CHECK(text(k_ten, "@@\n-7\n+seven\n") == "1\n2\n3\n4\n5\n6\nseven\n8\n9\n10\n");
  CHECK(text(k_ten, "@@ -999999999 +1 @@\n-7\n") == "1\n2\n3\n4\n5\n6\n8\n9\n10\n");
  CHECK(text(k_ten, "@@ -9 +9 @@\n-9\n@@ -1 +1 @@\n-1\n") == "2\n3\n4\n5\n6\n7\n8\n10\n");
}

TEST_CASE("patched_text: the same lines at several places", "[tools]") {
  const char* const content = "{\n}\n\n{\n}\n\n{\n}\n";
  CHECK(text(content, "@@ -4,2 +4,3 @@\n {\n+x\n }\n") == "{\n}\n\n{\nx\n}\n\n{\n}\n");
  CHECK(text(content, "@@ -3,2 +3,3 @@\n {\n+x\n }\n") ==
        "f, hunk 1: its lines occur 3 times in the file, at lines 1, 4, 7");
  CHECK(text(content, "@@\n {\n+x\n }\n") ==
        "f, hunk 1: its lines occur 3 times in the file, at lines 1, 4, 7");
  // One hunk was three lines off, so the next is looked for three lines further, too.
  CHECK(text("a\nb\nc\nq\n" + std::string(content),
             "@@ -1 +1 @@\n-q\n+Q\n@@ -5,2 +5,3 @@\n {\n+x\n }\n") ==
        "a\nb\nc\nQ\n{\n}\n\n{\nx\n}\n\n{\n}\n");
  CHECK(
      text(std::string(24, '\n'), "@@ -30 +30 @@\n-\n") ==
      "f, hunk 1: its lines occur 24 times in the file, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …");
}

TEST_CASE("patched_text: what is not there is named, with what is there instead", "[tools]") {
  CHECK(text(k_ten, "@@ -4,3 +4,3 @@\n 4\n 5\n-six\n") ==
        "f, hunk 1: line 6 should be `six`, but is `6`");
  CHECK(text(k_ten, "@@ -1 +1 @@\n-1\n@@ -4,2 +4,2 @@\n 4\n-x\n") ==
        "f, hunk 2: line 5 should be `x`, but is `5`");
  CHECK(text("a\n\tb\n", "@@ -1,2 +1,2 @@\n a\n-  b\n") ==
        "f, hunk 1: line 2 should be `b`, but is `b` (other white space)");
  CHECK(text(k_ten, "@@ -9,3 +9,3 @@\n 9\n 10\n-11\n") ==
        "f, hunk 1: line 11 should be `11`, but the file has only 10 lines");
  CHECK(text(k_ten, "@@ -3 +3 @@\n-x\n") == "f, hunk 1: line 3 should be `x`, but is `3`");
  CHECK(text(k_ten, "@@\n-x\n") == "f, hunk 1: no line of the file is `x`");
  CHECK(text(k_ten, "@@ -3,0 +4 @@\n+x\n") ==
        "f, hunk 1: nothing in the hunk says where its new lines belong");
  CHECK(text("", "@@ -1 +1 @@\n-x\n") ==
        "f, hunk 1: line 1 should be `x`, but the file has only 0 lines");
  CHECK(text(k_ten, "@@ -3 +3 @@\n-3\n@@ -3 +3 @@\n-3\n+4\n") ==
        "f: the hunks 1 and 2 change the same place, line 3");
}

TEST_CASE("patched_text: hunks may share the lines around their changes", "[tools]") {
  CHECK(text(k_ten, "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n") ==
        "1\ntwo\n3\nfour\n5\n6\n7\n8\n9\n10\n");
}

TEST_CASE("patched_text: line ends stay what they are", "[tools]") {
  CHECK(text("1\r\n2\r\n3\r\n", "@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+2.5\n 3\n") ==
        "1\r\ntwo\r\n2.5\r\n3\r\n");
  CHECK(text("1\r\n2\r\n", "@@ -1,2 +1,2 @@\n 1\r\n-2\r\n+two\r\n") == "1\r\ntwo\r\n");
  CHECK(text("1\r\n2\n3\r\n4\n", "@@ -1,4 +1,5 @@\n 1\n+1.5\n 2\n-3\n+three\n 4\n") ==
        "1\r\n1.5\r\n2\nthree\r\n4\n");
  CHECK(text("1\n2\n", "@@ -2 +2 @@\n-2\n+two\r\n") == "1\ntwo\r\n");  // it says so
}

TEST_CASE("patched_text: the end of the last line", "[tools]") {
  struct Row {
    const char* content;
    const char* hunk;
    const char* result;
  };
  const auto row = GENERATE(values<Row>({
      {"1\n2", "@@ -2 +2 @@\n-2\n\\ No newline\n+two\n\\ No newline\n", "1\ntwo"},
      {"1\n2", "@@ -2 +2 @@\n-2\n\\ No newline\n+two\n", "1\ntwo\n"},
      {"1\n2\n", "@@ -2 +2 @@\n-2\n+two\n\\ No newline\n", "1\ntwo"},
      {"1\n2", "@@ -2 +2 @@\n-2\n+two\n", "1\ntwo"},  // nothing was said of it
      {"1\r\n2", "@@ -2 +2 @@\n-2\n+two\n", "1\r\ntwo"},
      {"1\n2", "@@ -2 +2,2 @@\n 2\n\\ No newline\n+3\n", "1\n2\n3\n"},
      {"1\n2", "@@ -2 +2,3 @@\n 2\n+\n+3\n", "1\n2\n\n3"},
      {"1\n2", "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\\ No newline\n", "one\n2"},
      {"1\n2", "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n", "one\n2"},
      {"1\n2", "@@ -1,2 +1 @@\n 1\n-2\n", "1\n"},
      {"", "@@ -0,0 +1 @@\n+1\n\\ No newline\n", "1"},
      {"1\n2\n",
       "@@ -2 +2 @@\n-2\n\\ No newline\n+3\n",
       "f, hunk 1: line 2 should be the last, without a line end, and is not"},
      {"1\n2\n",
       "@@ -1 +1 @@\n-1\n+one\n\\ No newline\n",
       "f, hunk 1: it says that the file ends there, but line 2 follows"},
  }));
  INFO(row.hunk);
  CHECK(text(row.content, row.hunk) == row.result);
}

TEST_CASE("patched_text: a search ends when the run does", "[tools]") {
  const auto done = patched(k_ten, "@@\n-7\n", tests::requested_stop());
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Code::tool_cancelled);
}

namespace {

std::string lines_of(const std::string& line, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += line;
  }
  return text;
}

}  // namespace

TEST_CASE("patch: lines that nearly stand there everywhere cost no more", "[tools]") {
  CHECK(tests::grows_linearly(2'000, [](std::size_t n) {
    const std::string content = lines_of("x\n", 8 * n);
    const std::string text = "--- a\n+++ a\n@@ @@\n" + lines_of(" x\n", n) + "-y\n+z\n";
    const auto patch = tools::parse_patch(text);
    REQUIRE(patch);
    return tests::seconds_of([&] {
      CHECK_FALSE(tools::patched_text(content, patch->front().hunks, "a", std::stop_token()));
    });
  }));
}
