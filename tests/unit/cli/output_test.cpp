#include "cli/output.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "errand-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TemporaryFolder() { fs::remove_all(path); }
};

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::ptrdiff_t entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_CASE("output: a file appears whole at commit, and not before", "[cli]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "out.json";
  auto output = cli::Output::to_file(file.string());
  REQUIRE(output);
  (*output)->write("answer");
  CHECK_FALSE(fs::exists(file));
  (*output)->commit();
  CHECK(content(file) == "answer");
  output->reset();
  CHECK(entries(folder.path) == 1);
}

TEST_CASE("output: without commit the old file stays and nothing else is left", "[cli]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "out.json";
  std::ofstream(file) << "old";
  {
    auto output = cli::Output::to_file(file.string());
    REQUIRE(output);
    (*output)->write("new");
  }
  CHECK(content(file) == "old");
  CHECK(entries(folder.path) == 1);
}

TEST_CASE("output: permissions of a replaced file are kept", "[cli]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "out.json";
  std::ofstream(file) << "old";
  ::chmod(file.c_str(), 0640);
  auto output = cli::Output::to_file(file.string());
  REQUIRE(output);
  (*output)->commit();
  struct stat status{};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("output: a folder that is not there is 73, before anything is paid for", "[cli]") {
  const auto output = cli::Output::to_file("/nowhere/at/all/out.json");
  REQUIRE_FALSE(output);
  CHECK(output.error().code == agent::Code::cli_cannot_create);
}

TEST_CASE("output: a device is written in place", "[cli]") {
  auto output = cli::Output::to_file("/dev/full");
  REQUIRE(output);
  (*output)->write("x");
  REQUIRE((*output)->failure() != nullptr);
  CHECK((*output)->failure()->code == agent::Code::storage_io);
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("output: a reader that went away is told apart from a failure", "[cli]") {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[0]);
  const auto output = cli::Output::to_descriptor(ends[1], "standard output");
  output->write("x");
  CHECK(output->reader_is_gone());
  ::close(ends[1]);
}
