#include "cli/folder_copy.h"

#include "tests/unit/cli/command_support.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <sys/stat.h>

using Moment = std::chrono::steady_clock::time_point;

TEST_CASE("folder_copy: files, folders, links, permissions and holes", "[cli]") {
  const Folder folder;
  std::filesystem::create_directories(folder.path / "from/below");
  folder.write("from/below/text", std::string(300'000, 'x') + "end");
  folder.write("from/empty", "");
  std::filesystem::permissions(folder.path / "from/below/text", std::filesystem::perms(0750));
  std::filesystem::create_symlink("nowhere", folder.path / "from/link");
  {
    std::ofstream sparse(folder.path / "from/sparse");
    sparse.seekp(50'000'000);
    sparse << "middle";
  }
  std::filesystem::resize_file(folder.path / "from/sparse", 100'000'000);

  const auto end =
      cli::copy_folder(folder.path / "from", folder.path / "to", {.deadline = Moment::max()});
  REQUIRE(end);
  CHECK(*end == cli::CopyEnd::whole);
  for (const char* name : {"below/text", "empty", "sparse"}) {
    CHECK(read_file(folder.path / "to" / name) == read_file(folder.path / "from" / name));
  }
  CHECK(std::filesystem::read_symlink(folder.path / "to/link") == "nowhere");
  CHECK(std::filesystem::status(folder.path / "to/below/text").permissions() ==
        std::filesystem::perms(0750));
  struct stat from{};
  struct stat to{};
  REQUIRE(::stat((folder.path / "from/sparse").c_str(), &from) == 0);
  REQUIRE(::stat((folder.path / "to/sparse").c_str(), &to) == 0);
  CHECK(to.st_blocks <= from.st_blocks + 1024);
}

TEST_CASE("folder_copy: a stop and a deadline end it", "[cli]") {
  const Folder folder;
  std::filesystem::create_directory(folder.path / "from");
  folder.write("from/text", "x");
  std::stop_source stopped;
  stopped.request_stop();
  const auto by_stop = cli::copy_folder(folder.path / "from",
                                        folder.path / "to",
                                        {.stop = stopped.get_token(), .deadline = Moment::max()});
  const auto by_deadline =
      cli::copy_folder(folder.path / "from", folder.path / "too", {.deadline = Moment::min()});
  CHECK(by_stop.value() == cli::CopyEnd::stopped);
  CHECK(by_deadline.value() == cli::CopyEnd::timed_out);
  CHECK_FALSE(std::filesystem::exists(folder.path / "to/text"));
  CHECK_FALSE(std::filesystem::exists(folder.path / "too/text"));
}

TEST_CASE("folder_copy: what cannot be copied is named", "[cli]") {
  const Folder folder;
  std::filesystem::create_directories(folder.path / "from/below");
  REQUIRE(::mkfifo((folder.path / "from/below/fifo").c_str(), 0600) == 0);
  const auto end =
      cli::copy_folder(folder.path / "from", folder.path / "to", {.deadline = Moment::max()});
  REQUIRE_FALSE(end);
  CHECK(end.error().message.contains("from/below/fifo`: it is neither a file"));
}
