#include "agent/secrets/redact.h"
#include "tests/support/file_size_limit.h"
#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using agent::Code;
using tests::FileFolder;

namespace {

mode_t written_mode_of(const std::filesystem::path& path) {
  struct stat status = {};
  ::stat(path.c_str(), &status);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("write_file: makes a file and its folders", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_write_file);
  const mode_t mask = ::umask(027);
  const auto output = folder.call(*tool, R"({"path": "a/b/new.txt", "content": "h\u00e9llo\n"})");
  ::umask(mask);

  CHECK(output.code == std::nullopt);
  CHECK(output.text == "wrote 7 bytes to a/b/new.txt (a new file)\n");
  CHECK(folder.read("a/b/new.txt") == "h\xC3\xA9llo\n");
  CHECK(written_mode_of(folder.at("a/b/new.txt")) == 0640);
}

TEST_CASE("write_file: keeps the mode and replaces the file as a whole", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_write_file);
  folder.write("run.sh", "old and longer");
  REQUIRE(::chmod(folder.at("run.sh").c_str(), 0751) == 0);
  std::ifstream opened(folder.at("run.sh"));

  CHECK(folder.call(*tool, R"({"path": "run.sh", "content": "new"})").text ==
        "wrote 3 bytes to run.sh (it had 14 before)\n");
  CHECK(folder.read("run.sh") == "new");
  CHECK(written_mode_of(folder.at("run.sh")) == 0751);
  std::string old;
  std::getline(opened, old);
  CHECK(old == "old and longer");  // whoever had it open still has the old one
  CHECK(folder.count() == 1);
}

TEST_CASE("write_file: follows links to their target", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_write_file);
  folder.write("real/file", "old");
  std::filesystem::create_symlink("real/file", folder.at("one"));
  std::filesystem::create_symlink("one", folder.at("two"));
  std::filesystem::create_symlink("real/not-yet", folder.at("dangling"));
  std::filesystem::create_symlink("loop", folder.at("loop"));

  CHECK_FALSE(folder.call(*tool, R"({"path": "two", "content": "new"})").code);
  CHECK(folder.read("real/file") == "new");
  CHECK(std::filesystem::is_symlink(folder.at("one")));
  CHECK(std::filesystem::is_symlink(folder.at("two")));
  CHECK_FALSE(folder.call(*tool, R"({"path": "dangling", "content": "made"})").code);
  CHECK(folder.read("real/not-yet") == "made");
  CHECK(std::filesystem::is_symlink(folder.at("dangling")));
  CHECK(folder.call(*tool, R"({"path": "loop", "content": "x"})").code == Code::tool_failed);
}

TEST_CASE("write_file: a disk that is full leaves the old file whole", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_write_file);
  folder.write("a.txt", "precious");
  tools::Output output;
  {
    const tests::FileSizeLimit limit(1'000);
    output =
        folder.call(*tool, R"({"path": "a.txt", "content": ")" + std::string(5'000, 'x') + R"("})");
  }
  CHECK(output.code == Code::tool_failed);
  CHECK_THAT(output.message, Catch::Contains("cannot write `a.txt`"));
  CHECK(folder.read("a.txt") == "precious");
  CHECK(folder.count() == 1);
}

TEST_CASE("write_file: only regular files are replaced", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_write_file);
  std::filesystem::create_directory(folder.at("sub"));
  REQUIRE(::mkfifo(folder.at("pipe").c_str(), 0600) == 0);
  folder.write("file", "x");

  for (const char* path : {"sub", "sub/", "new/", "pipe", "/dev/null", "file/below"}) {
    INFO(path);
    const auto output =
        folder.call(*tool, std::string(R"({"content": "x", "path": ")") + path + R"("})");
    CHECK(output.code == Code::tool_failed);
    CHECK_FALSE(output.message.empty());
  }
  CHECK(std::filesystem::is_fifo(folder.at("pipe")));
  CHECK(folder.count() == 3);
}

TEST_CASE("write_file: what stands for a secret does not take its place", "[tools]") {
  const FileFolder folder;
  const auto tool = tests::made(tools::make_write_file);
  const agent::Redactor redactor = agent::Redactor({}).guessing();
  const std::string old = "name: a\npassword: kJ9mN1pQ2rS4\n";
  const std::string call = R"({"path": "c.yaml", "content": "name: b\npassword: [redacted]\n"})";
  folder.write("c.yaml", old);
  const auto refused = folder.call(*tool, call, {}, nullptr, &redactor);
  CHECK(refused.code == Code::tool_failed);
  CHECK_THAT(refused.message, Catch::Contains("`c.yaml` has secrets"));
  CHECK(folder.read("c.yaml") == old);
  CHECK_FALSE(folder.call(*tool, call, {}, nullptr).code);  // it has read the secret
  CHECK(folder.read("c.yaml") == "name: b\npassword: [redacted]\n");
  CHECK_FALSE(
      folder.call(*tool, call, {}, nullptr, &redactor).code);  // no secret is there any more
  folder.write("c.yaml", "say [redacted]\n");
  CHECK_FALSE(folder.call(*tool, call, {}, nullptr, &redactor).code);
  CHECK_FALSE(
      folder.call(*tool, R"({"path": "new", "content": "[redacted]"})", {}, nullptr, &redactor)
          .code);
}
