#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using agent::Code;
using tests::FileFolder;

TEST_CASE("glob tool: finds files in path order", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_glob);
  for (const char* name :
       {"a/z.c", "a.c", "a/b/y.c", "a.b/x.c", "top.h", ".git/config.c", ".hid/h.c", ".e.c"}) {
    folder.write(name, "");
  }
  const auto glob = [&](const std::string& arguments) {
    return folder.call(*tool, arguments).text;
  };
  CHECK(glob(R"({"pattern": "**/*.c"})") == "a.b/x.c\na.c\na/b/y.c\na/z.c\n");
  CHECK(glob(R"({"pattern": "*.c"})") == "a.c\n");
  CHECK(glob(R"({"pattern": "a/*.c"})") == "a/z.c\n");
  CHECK(glob(R"({"pattern": "*.c", "path": "a"})") == "a/z.c\n");
  CHECK(glob(R"({"pattern": "b/*", "path": "./a/"})") == "./a/b/y.c\n");
  CHECK(glob(R"({"pattern": ".e.c"})") == ".e.c\n");
  CHECK(glob(R"({"pattern": "**/.*/*.c"})") == ".hid/h.c\n");  // .git stays out
  CHECK(glob(R"({"pattern": "*.nothing"})") == "[no file matches]\n");
  const std::string absolute = folder.path().string();
  CHECK(glob(R"({"pattern": ")" + absolute + R"(/a/*.c"})") == absolute + "/a/z.c\n");
}

TEST_CASE("glob tool: links in a circle do not hold it", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_glob);
  folder.write("a/file", "");
  std::filesystem::create_directory_symlink("..", folder.at("a/up"));
  std::filesystem::create_directory_symlink(".", folder.at("self"));
  CHECK(folder.call(*tool, R"({"pattern": "**"})").text == "a/file\na/up\nself\n");
}

TEST_CASE("glob tool: a thousand names are enough", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_glob);
  for (int i = 0; i < 1'002; ++i) {
    folder.write("d/" + std::to_string(1'000 + i), "");
  }
  CHECK_THAT(folder.call(*tool, R"({"pattern": "d/*"})").text,
             Catch::Contains("d/1999\n[and 2 more; narrow the pattern]\n"));
}

TEST_CASE("glob tool: gaps and mistakes are told", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_glob);
  std::string deep;
  for (int i = 0; i < 120; ++i) {
    deep += "d/";
  }
  folder.write(deep + "file", "");
  CHECK_THAT(folder.call(*tool, R"({"pattern": "**/file"})").text,
             Catch::Contains("[no file matches]\n[1 folder too deep to enter]"));
  CHECK(folder.call(*tool, R"({"pattern": "a[b"})").code == Code::tool_invalid_parameters);
  CHECK(folder.call(*tool, R"({"pattern": "nowhere/*.c"})").code == Code::tool_failed);
  CHECK(folder.call(*tool, R"({"pattern": "**"})", tests::requested_stop()).code ==
        Code::tool_cancelled);
}
