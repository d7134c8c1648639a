#include "tools/sandbox/way.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace fs = std::filesystem;
using tools::sandbox::deciding_on;
using tools::sandbox::names_on;
using tools::sandbox::way_to;
using Kind = tools::sandbox::WayPoint::Kind;

TEST_CASE("way: every link on it, and what it leads to", "[tools]") {
  const tests::FileFolder folder;
  const fs::path top = fs::canonical(folder.path());
  folder.write("real/guard.sh", "exit 0");
  fs::create_directory_symlink("real", top / "hooks");
  fs::create_symlink("../hooks/guard.sh", top / "real/again");
  fs::create_symlink(top / "real/again", top / "guard");
  using Names = std::vector<fs::path>;
  CHECK(names_on(way_to(top / "real/guard.sh")) == Names{top / "real/guard.sh"});
  CHECK(names_on(way_to(top / "hooks/guard.sh")) == Names{top / "hooks", top / "real/guard.sh"});
  CHECK(names_on(way_to(top / "guard")) ==
        Names{top / "guard", top / "real/again", top / "hooks", top / "real/guard.sh"});
  CHECK(names_on(way_to(top / "hooks/later")) == Names{top / "hooks", top / "real/later"});
}

TEST_CASE("way: a folder before `..` is on it", "[tools]") {
  const tests::FileFolder folder;
  const fs::path top = fs::canonical(folder.path());
  folder.write("sub/deep/x", "");
  folder.write("guard.sh", "exit 0");
  fs::create_directory_symlink("sub/deep", top / "link");
  const auto left_again = [](const fs::path& path) {
    std::vector<fs::path> folders;
    for (const auto& point : way_to(path)) {
      if (point.kind == Kind::left_again) {
        folders.push_back(point.path);
      }
    }
    return folders;
  };
  CHECK(left_again(top / "sub/../guard.sh") == std::vector<fs::path>{top / "sub"});
  CHECK(left_again(top / "link/../../guard.sh") ==
        std::vector<fs::path>{top / "sub/deep", top / "sub"});
  CHECK(way_to(top / "link/../../guard.sh").back().path == top / "guard.sh");
  CHECK(deciding_on(way_to(top / "link/../../guard.sh")) ==
        std::vector<fs::path>{top / "link", top / "sub/deep", top / "sub", top / "guard.sh"});
}

TEST_CASE("way: a circle of links ends", "[tools]") {
  const tests::FileFolder folder;
  fs::create_symlink("b", folder.path() / "a");
  fs::create_symlink("a", folder.path() / "b");
  CHECK(names_on(way_to(folder.path() / "a")).size() == 41);
}
