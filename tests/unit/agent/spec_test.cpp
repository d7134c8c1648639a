#include "agent/spec.h"

#include "tests/support/journal.h"

#include <catch2/catch.hpp>

#include <fstream>

namespace fs = std::filesystem;

TEST_CASE("spec: an agent in another one's file is named by it") {
  const tests::TemporaryFolder folder;
  for (const char* const name : {"a.yaml", "b#c.yaml", "d.yaml#real"}) {
    std::ofstream(folder / name) << "x";
  }
  std::ofstream(folder / "d.yaml") << "x";
  struct Row {
    std::string name;
    std::string in_whole;
  };
  const auto row = GENERATE(values<Row>({{"a.yaml", ""},
                                         {"a.yaml#helper", "#helper"},
                                         {"a.yaml#mid#deep", "#mid#deep"},
                                         {"b#c.yaml", ""},
                                         {"b#c.yaml#helper", "#helper"},
                                         {"d.yaml#real", "#real"},
                                         {"gone.yaml#helper", ""},
                                         {"#helper", ""}}));
  INFO(row.name);
  const fs::path named = folder.path() / row.name;
  CHECK(agent::name_in_whole(named) == row.in_whole);
  CHECK(agent::file_of_whole(named).string() + row.in_whole == named.string());
  CHECK(agent::tool_lock_file(named) == named.string() + ".mcp-lock.json");
}
