#include "agent/tool_name.h"

#include "agent/spec.h"

#include <catch2/catch.hpp>

using agent::cleaned_tool_name;

TEST_CASE("tool name: what providers do not take becomes `_`") {
  CHECK(cleaned_tool_name("get-User_2") == "get-User_2");
  CHECK(cleaned_tool_name("a.b/c d\n") == "a_b_c_d_");
  CHECK(cleaned_tool_name("ü") == "__");
  CHECK(cleaned_tool_name("") == "");
  CHECK(agent::McpServerSpec{.name = "my server"}.tool_prefix() == "mcp__my_server__");
}

TEST_CASE("tool name: what stands before a digest") {
  using agent::without_digest;
  CHECK(without_digest("mcp__s__rm_rf_58959f20e200") == "mcp__s__rm_rf");
  CHECK(without_digest("mcp__s__rm_rf") == "mcp__s__rm_rf");
  CHECK(without_digest("mcp__s__rm_58959F20e200") == "mcp__s__rm_58959F20e200");
  CHECK(without_digest("mcp__s__rm58959f20e200") == "mcp__s__rm58959f20e200");
  CHECK(without_digest("rm_rf_58959f20e200") == "rm_rf_58959f20e200");
  CHECK(without_digest("mcp__") == "mcp__");
  CHECK(without_digest("") == "");
}
