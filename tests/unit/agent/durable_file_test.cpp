#include "agent/durable_file.h"

#include "tests/support/file_size_limit.h"
#include "tests/support/journal.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>

using agent::write_durably;

namespace {

std::string bytes_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

auto entries_of(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

}  // namespace

TEST_CASE("durable file: is put in place of what was there, and nothing is left beside it") {
  const tests::TemporaryFolder folder;
  const auto file = folder / "file";
  REQUIRE(write_durably(file, "first\n", 0600) == 0);
  CHECK(bytes_in(file) == "first\n");
  struct stat status = {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);

  REQUIRE(write_durably(file, "", 0600) == 0);
  CHECK(bytes_in(file).empty());
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("durable file: a link is replaced, not followed") {
  const tests::TemporaryFolder folder;
  REQUIRE(write_durably(folder / "aim", "kept", 0600) == 0);
  std::filesystem::create_symlink("aim", folder / "link");
  REQUIRE(write_durably(folder / "link", "new", 0600) == 0);
  CHECK(bytes_in(folder / "aim") == "kept");
  CHECK(bytes_in(folder / "link") == "new");
  CHECK_FALSE(std::filesystem::is_symlink(folder / "link"));
}

TEST_CASE("durable file: where it cannot be written, all is as it was") {
  const tests::TemporaryFolder folder;
  const auto file = folder / "file";
  REQUIRE(write_durably(file, "kept", 0600) == 0);
  {
    const tests::FileSizeLimit limit(10);
    CHECK(write_durably(file, std::string(11, 'x'), 0600) == EFBIG);
  }
  CHECK(bytes_in(file) == "kept");
  CHECK(entries_of(folder.path()) == 1);

  CHECK(write_durably(folder / "none/file", "x", 0600) == ENOENT);
  std::filesystem::create_directory(folder / "folder");
  CHECK(write_durably(folder / "folder", "x", 0600) == EISDIR);
  CHECK(entries_of(folder.path()) == 2);
}
