#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <sys/stat.h>

using agent::Code;
using tests::FileFolder;

namespace {

tools::Output grep(const FileFolder& folder, const std::string& arguments) {
  return folder.call(*tests::made(tools::make_grep), arguments);
}

}  // namespace

TEST_CASE("grep: shows file, line and text", "[tools]") {
  const FileFolder folder;
  folder.write("a.txt", "one\nTWO\nthree one\r\n");
  folder.write("sub/b.txt", "one");
  folder.write(".hidden", "one");
  folder.write(".git/config", "one");
  folder.write("sub/blob", std::string("one\0one", 7));
  REQUIRE(::mkfifo(folder.at("pipe").c_str(), 0600) == 0);

  CHECK(grep(folder, R"({"pattern": "one"})").text ==
        "a.txt:1:one\na.txt:3:three one\nsub/b.txt:1:one\n[1 binary file left out]\n");
  CHECK(grep(folder, R"({"pattern": "(?i)^two$"})").text ==
        "a.txt:2:TWO\n[1 binary file left out]\n");
  CHECK(grep(folder, R"({"pattern": "one$", "path": "a.txt"})").text ==
        "a.txt:1:one\na.txt:3:three one\n");
  CHECK(grep(folder, R"({"pattern": "one", "path": "sub", "glob": "*.txt"})").text ==
        "sub/b.txt:1:one\n");
  CHECK(grep(folder, R"({"pattern": "one", "glob": "b.*"})").text == "sub/b.txt:1:one\n");
  CHECK(grep(folder, R"({"pattern": "one", "glob": "sub/*.txt"})").text == "sub/b.txt:1:one\n");
  CHECK(grep(folder, R"({"pattern": "one", "glob": ".h*"})").text == ".hidden:1:one\n");
  CHECK(grep(folder, R"({"pattern": "nowhere", "glob": "*.txt"})").text ==
        "[no match in 2 files]\n");
}

TEST_CASE("grep: what RE2 cannot do is explained", "[tools]") {
  const FileFolder folder;
  for (const char* pattern : {"(?=x)", "(a)\\\\1", "(open"}) {
    INFO(pattern);
    const auto output = grep(folder, std::string(R"({"pattern": ")") + pattern + R"("})");
    CHECK(output.code == Code::tool_invalid_parameters);
    CHECK_THAT(output.message, Catch::Contains("not a valid RE2 expression"));
    CHECK_THAT(output.suggestion, Catch::Contains("look-around"));
  }
}

TEST_CASE("grep: long lines and many matches are bounded", "[tools]") {
  const FileFolder folder;
  folder.write("wide", std::string(10'000, 'x') + "needle" + std::string(200'000, 'y'));
  const auto wide = grep(folder, R"({"pattern": "needle"})").text;
  CHECK(wide.size() < 500);
  CHECK_THAT(wide, Catch::Contains("xneedley") && Catch::EndsWith("…\n"));

  std::string many;
  for (int i = 0; i < 5'000; ++i) {
    many += "match\n";
  }
  folder.write("wide", many);
  const auto text = grep(folder, R"({"pattern": "match"})").text;
  CHECK(text.size() < 30'000);
  CHECK_THAT(text, Catch::Contains("wide:1000:match\n[more than these 1000 matches;"));
}

TEST_CASE("grep: a thousand matches are all of them, not more than all", "[tools]") {
  const FileFolder folder;
  std::string many;
  for (int i = 0; i < 1'000; ++i) {
    many += "match\n";
  }
  folder.write("f", many);
  CHECK_THAT(grep(folder, R"({"pattern": "match"})").text, Catch::EndsWith("f:1000:match\n"));
}

TEST_CASE("grep: a line that spans the read buffer is found once, at its number", "[tools]") {
  const FileFolder folder;
  const std::string filler(65'500, 'x');
  folder.write(
      "f", filler + "\n" + std::string(100, 'a') + "needle" + std::string(100, 'b') + "\nneedle");
  const auto text = grep(folder, R"({"pattern": "a{100}needle|^needle"})").text;
  CHECK_THAT(text, Catch::Contains("f:2:") && Catch::Contains("f:3:needle\n"));
}

TEST_CASE("grep: one file that cannot be searched is a failure, one of many a note", "[tools]") {
  const FileFolder folder;
  folder.write("blob", std::string("a\0b", 3));
  CHECK(grep(folder, R"({"pattern": "a", "path": "blob"})").code == Code::tool_result_unusable);
  CHECK(grep(folder, R"({"pattern": "a", "path": "missing"})").code == Code::tool_failed);
  CHECK(grep(folder, R"({"pattern": "a", "path": "/dev/zero"})").code == Code::tool_failed);
  CHECK(folder.call(*tests::made(tools::make_grep), R"({"pattern": "a"})", tests::requested_stop())
            .code == Code::tool_cancelled);
}
