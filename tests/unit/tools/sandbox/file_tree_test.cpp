#include "tools/sandbox/file_tree.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <string>

namespace fs = std::filesystem;
using tools::sandbox::move_aside;

TEST_CASE("file tree: what has the longest name gets a shorter one aside", "[tools]") {
  const tests::FileFolder folder;
  const std::string name = std::string(245, 'x') + ".test.yaml";
  folder.write(name, "evil");
  const fs::path aside = move_aside(folder.path() / name, folder.path());
  CHECK(aside.filename().native().ends_with(".untrusted"));
  CHECK(fs::exists(aside));
  CHECK_FALSE(fs::exists(folder.path() / name));
}

TEST_CASE("file tree: where all numbers are taken, there are others", "[tools]") {
  const tests::FileFolder folder;
  for (int number = 1; number <= 1'100; ++number) {
    folder.write(number == 1 ? ".git.untrusted" : ".git.untrusted." + std::to_string(number), "");
  }
  folder.write(".git", "evil");
  const fs::path aside = move_aside(folder.path() / ".git", folder.path());
  CHECK(aside.filename().native().starts_with(".git.untrusted."));
  CHECK(fs::file_size(aside) == 4);
}
