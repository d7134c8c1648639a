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
