#include "cli/run_folder.h"

#include "tests/unit/cli/command_support.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

namespace fs = std::filesystem;

TEST_CASE("run_folder: it is where no tool can write", "[cli]") {
  const Folder folder;
  const fs::path named = fs::canonical(folder.path);
  const agent::Environment environment = {{"TMPDIR", named.string()}};
  const auto found = [&](const cli::IsWritten& is_written) {
    return cli::find_temporary(environment, is_written);
  };
  CHECK(*found([](const fs::path&) { return false; }) == named);
  CHECK(*found([&](const fs::path& one) { return one == named; }) == fs::canonical("/tmp"));
  CHECK(*found([](const fs::path& one) { return one != fs::canonical("/var/tmp"); }) ==
        fs::canonical("/var/tmp"));
  const auto nowhere = found([](const fs::path&) { return true; });
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == agent::Code::sandbox_setup);
  CHECK(nowhere.error().message.contains(named.string() + ", /tmp, /var/tmp"));
}

TEST_CASE("run_folder: a TMPDIR behind a link is known by its true name", "[cli]") {
  const Folder folder;
  fs::create_directory(folder.path / "true");
  fs::create_directory_symlink("true", folder.path / "link");
  const auto found = cli::find_temporary({{"TMPDIR", (folder.path / "link").string()}},
                                         [](const fs::path&) { return false; });
  CHECK(*found == fs::canonical(folder.path / "true"));
}
