#include "tools/hooks/named_programs.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

TEST_CASE("named programs: by path, by PATH, and what is started in their place", "[tools]") {
  const tests::FileFolder folder;
  const std::string top = folder.path().string();
  folder.write("bin/plain", "exit 0\n");
  folder.write("bin/script", "#! " + top + "/venv/python -u\n");
  folder.write("bin/looked-up", "#!/usr/bin/env -S X=1 script\n");
  folder.write("bin/far", "#!/bin/sh\n'''exec' \"" + top + "/a venv/python\" \"$0\"\n");
  folder.write("bin/circle", "#!" + top + "/bin/circle\n");
  folder.write("bin/word", "#!");
  folder.write("venv/python", "");
  folder.write("a venv/python", "");
  folder.write("here", "#!venv/python\n");
  const tools::CommandPlace place{
      .directory = folder.path(), .home = {}, .search_path = {folder.path() / "bin"}};
  struct Row {
    std::string line;
    std::vector<std::string> found;
  };
  const std::vector<Row> rows = {
      {"plain", {"bin/plain"}},
      {"nothing --plain", {}},
      {"script --x", {"bin/script", "venv/python"}},
      {"nothing script", {"bin/script", "venv/python"}},
      {"looked-up", {"bin/looked-up", "bin/script", "venv/python"}},
      {"far", {"bin/far", "a venv/python"}},
      {"circle", {"bin/circle"}},
      {"word", {"bin/word"}},
      {"./here", {"./here", "venv/python"}},
      {"X=1 plain; script", {"bin/plain", "bin/script", "venv/python"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    std::vector<std::string> found;
    for (const auto& file : tools::named_programs(row.line, place)) {
      if (file.string().starts_with(top)) {
        found.push_back(file.string().substr(top.size() + 1));
      }
    }
    CHECK(found == row.found);
  }
}
