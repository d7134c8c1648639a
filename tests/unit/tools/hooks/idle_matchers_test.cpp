#include "tools/hooks/idle_matchers.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using agent::GuardrailSpec;
using agent::HookPoint;

agent::HookSpec hook(HookPoint point, std::string matcher) {
  return {.point = point, .matcher = std::move(matcher), .command = "true"};
}

GuardrailSpec check(std::string tool) {
  GuardrailSpec spec;
  spec.of = GuardrailSpec::Of::tool_call;
  spec.name = "paths";
  spec.tool = std::move(tool);
  return spec;
}

std::vector<std::string> said(std::vector<agent::HookSpec> hooks,
                              std::vector<GuardrailSpec> checks,
                              const std::vector<std::string>& unknown = {}) {
  const auto warnings = tools::idle_matchers({.dialect = "claude", .hooks = std::move(hooks)},
                                             {.kill_switch = {}, .checks = std::move(checks)},
                                             {"mcp__docs__search", "shell", "write_file"},
                                             unknown);
  std::vector<std::string> messages;
  for (const agent::Warning& warning : warnings) {
    CHECK(warning.kind == "idle_rule");
    messages.push_back(warning.message);
  }
  return messages;
}

}  // namespace

TEST_CASE("idle matchers: what fits a tool, by whichever name, is at work", "[tools]") {
  CHECK(said({hook(HookPoint::pre_tool_use, ""),
              hook(HookPoint::pre_tool_use, "*"),
              hook(HookPoint::pre_tool_use, "shell|nothing"),
              hook(HookPoint::post_tool_use, "Bash"),
              hook(HookPoint::pre_tool_use, "mcp__docs__.*"),
              hook(HookPoint::run_start, "")},
             {check(""), check("mcp__.*"), check("write_file")})
            .empty());
}

TEST_CASE("idle matchers: what fits none is said", "[tools]") {
  CHECK(said({hook(HookPoint::pre_tool_use, "shel")}, {check("mcp__dox__.*"), check("Bash")}) ==
        std::vector<std::string>{
            "the pre_tool_use hook with `matcher: shel` is about no tool of this agent",
            "the guardrail `paths` with `tool: mcp__dox__.*` is about no tool of this agent",
            "the guardrail `paths` with `tool: Bash` is about no tool of this agent"});
}

TEST_CASE("idle matchers: of a server that is not there, nobody knows what would fit", "[tools]") {
  const auto warnings = [](const std::string& pattern) {
    return said({hook(HookPoint::pre_tool_use, pattern)}, {check(pattern)}, {"mcp__gone__"}).size();
  };
  for (const char* pattern : {"mcp__gone__.*",
                              "mcp__gone__list",
                              "mcp__go.*_",
                              "^mcp__gone__x$",
                              "mcp__[gh]one__x",
                              "mcp__gonex?__list",
                              "none|mcp__gone__list",
                              "(mcp__gone__list)",
                              ".*_list"}) {
    INFO(pattern);
    CHECK(warnings(pattern) == 0);
  }
  for (const char* pattern :
       {"mcp__dox__.*", "shel", "mcp__gine__x", "^mcp__a", "mcp__gone__*", "^mcp__gone__*"}) {
    INFO(pattern);
    CHECK(warnings(pattern) == 2);
  }
}
