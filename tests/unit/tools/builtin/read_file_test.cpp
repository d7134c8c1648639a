#include "tests/support/skip.h"
#include "tests/unit/tools/file_support.h"
#include "tools/feedback.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using agent::Code;
using tests::FileFolder;

namespace {

std::string numbered(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) {
    text += std::to_string(i) + "\tline " + std::to_string(i) + "\n";
  }
  return text;
}

std::string lines(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    text += "line " + std::to_string(i) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("read_file: shows lines with their numbers", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("sub/a.txt", "one\n\nthree");

  CHECK(folder.call(*tool, R"({"path": "sub/a.txt"})").text == "1\tone\n2\t\n3\tthree\n");
  CHECK(folder.call(*tool, R"({"path": "sub/a.txt", "offset": 3})").text == "3\tthree\n");
  const std::string absolute = R"({"path": ")" + folder.at("sub/a.txt").string() + R"("})";
  CHECK(folder.call(*tool, absolute).text == "1\tone\n2\t\n3\tthree\n");
}

TEST_CASE("read_file: a page ends with where to go on", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("a.txt", lines(10));

  CHECK(folder.call(*tool, R"({"path": "a.txt", "offset": 3, "limit": 2})").text ==
        numbered(3, 4) + "[the file goes on; read it with offset 5]\n");
  CHECK(folder.call(*tool, R"({"path": "a.txt", "offset": 9, "limit": 2})").text ==
        numbered(9, 10));
  const auto beyond = folder.call(*tool, R"({"path": "a.txt", "offset": 11})");
  CHECK(beyond.code == Code::tool_failed);
  CHECK_THAT(beyond.message, Catch::Contains("only 10 lines"));
}

TEST_CASE("read_file: pages of a long file join without a gap", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("long.txt", lines(5'000));

  std::string all;
  std::string next = "1";
  for (int page = 0; page < 20 && !next.empty(); ++page) {
    std::string text = folder.call(*tool, R"({"path": "long.txt", "offset": )" + next + "}").text;
    CHECK(text.size() <= 30'000);
    next.clear();
    if (const auto note = text.find("[the file goes on; read it with offset ");
        note != std::string::npos) {
      next = text.substr(text.rfind(' ') + 1);
      next.resize(next.find(']'));
      text.resize(note);
    }
    all += text;
  }
  CHECK(all == numbered(1, 5'000));
}

TEST_CASE("read_file: a line of any length is bounded", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("wide.txt", "short\n" + std::string(300'000, 'x') + "\nend\n");

  CHECK(folder.call(*tool, R"({"path": "wide.txt"})").text ==
        "1\tshort\n[the file goes on; read it with offset 2]\n");
  const auto wide = folder.call(*tool, R"({"path": "wide.txt", "offset": 2})");
  CHECK(wide.text.size() <= 30'000);
  CHECK_THAT(wide.text, Catch::Contains("line 2 is longer than what can be shown"));
  CHECK(folder.call(*tool, R"({"path": "wide.txt", "offset": 3})").text == "3\tend\n");
}

TEST_CASE("read_file: the head of a file of a terabyte costs a page", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("huge.txt", "a\nb\nc\n");
  REQUIRE(::truncate(folder.at("huge.txt").c_str(), 6) == 0);
  {
    std::ofstream file(folder.at("huge.txt"), std::ios::app);
    for (int i = 0; i < 20'000; ++i) {
      file << "more\n";
    }
  }
  std::error_code error;
  std::filesystem::resize_file(folder.at("huge.txt"), 1ull << 40, error);
  if (error) {
    WARN("the file system has no files of a terabyte");
    return;
  }
  CHECK(folder.call(*tool, R"({"path": "huge.txt", "limit": 2})").text ==
        "1\ta\n2\tb\n[the file goes on; read it with offset 3]\n");
}

TEST_CASE("read_file: odd bytes become text, NUL does not", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("latin1.txt", "caf\xe9\r\n\r\n");
  folder.write("binary", std::string("ELF\0\1", 5));
  folder.write("empty", "");

  CHECK(folder.call(*tool, R"({"path": "latin1.txt"})").text ==
        "1\tcaf\xEF\xBF\xBD\n2\t\n[the lines end in CR LF]\n");
  CHECK(folder.call(*tool, R"({"path": "empty"})").text == "[the file is empty]\n");
  const auto binary = folder.call(*tool, R"({"path": "binary"})");
  CHECK(binary.code == Code::tool_result_unusable);
  CHECK(binary.text.empty());
}

TEST_CASE("read_file: what is no readable file is refused at once", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  REQUIRE(::mkfifo(folder.at("pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(folder.at("sub"));
  std::filesystem::create_symlink("loop", folder.at("loop"));
  folder.write("file", "x");

  struct Row {
    const char* path;
    const char* says;
  };
  for (const Row& row : {Row{"missing.txt", "no file or folder `missing.txt`"},
                         Row{"pipe", "`pipe` is a named pipe"},
                         Row{"sub", "`sub` is a folder"},
                         Row{"/dev/zero", "`/dev/zero` is a device"},
                         Row{"file/x", "a file, not a folder"},
                         Row{"loop", "cannot read `loop`"},
                         Row{"~/x", "no file or folder `~/x`"}}) {
    INFO(row.path);
    const auto output = folder.call(*tool, std::string(R"({"path": ")") + row.path + R"("})");
    CHECK(output.code == Code::tool_failed);
    CHECK_THAT(output.message, Catch::Contains(row.says));
    CHECK(output.message == tools::one_line(output.message));
  }
  CHECK(folder.call(*tool, R"({"path": ""})").code == Code::tool_invalid_parameters);
  CHECK(folder.call(*tool, R"({"path": "a\u0000b"})").code == Code::tool_invalid_parameters);
}

TEST_CASE("read_file: no permission is said as such", "[tools]") {
  if (::geteuid() == 0) {
    tests::skip("root may read everything");
  }
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("closed", "x");
  REQUIRE(::chmod(folder.at("closed").c_str(), 0) == 0);
  CHECK_THAT(folder.call(*tool, R"({"path": "closed"})").message,
             Catch::Contains("no permission to read `closed`"));
}

TEST_CASE("read_file: stops when it is asked to", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_read_file);
  folder.write("a", "x\n");
  CHECK(folder.call(*tool, R"({"path": "a"})", tests::requested_stop()).code ==
        Code::tool_cancelled);
}
