#include "tools/sandbox/places.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

using tools::sandbox::led_to;
namespace fs = std::filesystem;

TEST_CASE("places: where links at a place, or on the way there, lead is a place, too", "[tools]") {
  const tests::FileFolder folder;
  const fs::path top = fs::canonical(folder.path());
  fs::create_directories(top / "real/keys");
  fs::create_directories(top / "plain");
  fs::create_symlink("real", top / "home");
  fs::create_symlink(top / "elsewhere", top / "real/later");
  fs::create_symlink("keys", top / "real/credentials.old");
  fs::create_symlink("loop", top / "loop");
  fs::create_symlink("/etc", top / "wide");
  const std::array<std::string, 8> places{(top / "home/keys").string(),
                                          (top / "home/none/below").string(),
                                          (top / "home/later").string(),
                                          (top / "home/later/deep").string(),
                                          (top / "plain").string(),
                                          (top / "real/credentials*").string(),
                                          (top / "loop/x").string(),
                                          (top / "wide").string()};
  CHECK(led_to(places) == std::vector<std::string>{(top / "real/keys").string(),
                                                   (top / "real/none/below").string(),
                                                   (top / "elsewhere").string(),
                                                   (top / "elsewhere/deep").string(),
                                                   (top / "real/keys").string()});
}
