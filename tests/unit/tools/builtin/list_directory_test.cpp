#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <sys/stat.h>

using agent::Code;
using tests::FileFolder;

TEST_CASE("list_directory: names what there is", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_list_directory);
  folder.write("b.txt", "12345");
  folder.write("a/inner", "");
  folder.write(".hidden", "");
  folder.write("new\nline", "x");
  std::filesystem::create_symlink("nowhere", folder.at("link"));
  REQUIRE(::mkfifo(folder.at("pipe").c_str(), 0600) == 0);

  CHECK(folder.call(*tool, R"({"path": "."})").text ==
        ".hidden  0 bytes\n"
        "a/\n"
        "b.txt  5 bytes\n"
        "link -> nowhere\n"
        "new line  1 bytes\n"
        "pipe  named pipe\n");
}

TEST_CASE("list_directory: a large folder is cut with a count", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_list_directory);
  for (int i = 0; i < 1'005; ++i) {
    folder.write("many/" + std::to_string(1'000 + i), "");
  }
  const auto output = folder.call(*tool, R"({"path": "many"})");
  CHECK_THAT(output.text, Catch::Contains("1999  0 bytes\n[and 5 more;"));
  CHECK(output.text.size() < 30'000);
}

TEST_CASE("list_directory: what is no folder is said so", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_list_directory);
  folder.write("file", "");
  std::filesystem::create_directory(folder.at("empty"));

  CHECK(folder.call(*tool, R"({"path": "empty"})").text == "[the folder is empty]\n");
  const auto file = folder.call(*tool, R"({"path": "file"})");
  CHECK(file.code == Code::tool_failed);
  CHECK(file.message == "`file` is a file, not a folder");
  CHECK_THAT(folder.call(*tool, R"({"path": "missing"})").message,
             Catch::Contains("no file or folder `missing`"));
}
