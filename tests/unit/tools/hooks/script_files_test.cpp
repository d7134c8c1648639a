#include "tools/hooks/script_files.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

TEST_CASE("script files: the files that a command line names", "[tools]") {
  const tests::FileFolder folder;
  folder.write("guard.sh", "exit 0");
  folder.write("data.txt", "x");
  const auto names = [&](std::string_view command) {
    std::vector<std::string> found;
    for (const auto& file : tools::script_files(command, folder.path())) {
      found.push_back(file.filename().string());
    }
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(names("./guard.sh") == Names{"guard.sh"});
  CHECK(names("sh guard.sh | grep x <data.txt >out") == Names{"guard.sh", "data.txt"});
  CHECK(names("X=1 env sh -e './guard.sh'") == Names{"guard.sh"});
  CHECK(names("$GUARD missing.sh " + folder.path().string()).empty());

  const tools::FileWatch watch(tools::script_files("sh guard.sh data.txt", folder.path()));
  CHECK(watch.changed().empty());
  folder.write("data.txt", "y");
  CHECK(watch.changed().filename() == "data.txt");
}
