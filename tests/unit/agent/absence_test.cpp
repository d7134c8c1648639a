#include "agent/absence.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

TEST_CASE("absence: only what has no name is absent", "[agent]") {
  std::string pattern = (fs::temp_directory_path() / "errand-absence-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  const fs::path folder = pattern;
  std::ofstream(folder / "file") << "x";
  fs::create_symlink("nowhere", folder / "broken");
  fs::create_symlink("loop", folder / "loop");
  fs::create_symlink("file", folder / "whole");

  for (const char* there : {"", "file", "whole", "broken", "loop", "broken/below", "broken/b/c"}) {
    CAPTURE(there);
    CHECK_FALSE(agent::is_absent(folder / there));
  }
  for (const char* absent : {"gone", "gone/below/that", "file/below", "whole/below"}) {
    CAPTURE(absent);
    CHECK(agent::is_absent(folder / absent));
  }
  fs::remove_all(folder);
}
