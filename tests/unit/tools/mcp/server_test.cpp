#include "tools/mcp/server.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

TEST_CASE("server: what is meant by a word that is none of the names") {
  const std::vector<std::string> names = {"book", "env", "files", "t_000", "t_001", "t_002"};
  struct Row {
    std::string word;
    std::string meant;
  };
  const std::vector<Row> rows = {
      {"book_", "; did you mean `s_book`?"},
      {"t_0002", "; did you mean `s_t_000` or `s_t_002`?"},
      {"t_003", "; did you mean `s_t_000`, `s_t_001` or `s_t_002`?"},
      {"T-001", "; did you mean `s_t_001`?"},
      {"x_*", "; there are `s_book`, `s_env`, `s_files`, `s_t_000`, `s_t_001` and 1 more"},
      {"other", "; there are `s_book`, `s_env`, `s_files`, `s_t_000`, `s_t_001` and 1 more"},
  };
  for (const auto& [word, meant] : rows) {
    CAPTURE(word);
    CHECK(tools::mcp::meant_among(word, names, "s_") == meant);
  }
  CHECK(tools::mcp::meant_among("x", {}, "s_") == "; there are none");
  CHECK(tools::mcp::meant_among("x", std::vector<std::string>{"env", "files"}, "s_") ==
        "; there are `s_env`, `s_files`");
}
