#include "tools/hooks/hook_coverage.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using agent::HookPoint;
using agent::HookSpec;

const std::vector<agent::ToolSpec> k_tools{{.name = "edit_file"}, {.name = "apply_patch"}};

agent::HooksSpec hooks_of(std::string dialect, std::vector<HookSpec> hooks) {
  return {.dialect = std::move(dialect), .hooks = std::move(hooks)};
}

bool misses_patches(const std::string& dialect,
                    const std::string& matcher,
                    HookPoint point = HookPoint::pre_tool_use) {
  const auto hooks = hooks_of(dialect, {{.point = point, .matcher = matcher, .command = "x"}});
  return tools::missed_changes(hooks, hooks.hooks.front(), k_tools).has_value();
}

}  // namespace

TEST_CASE("hook coverage: a matcher for changes of files has to name patches", "[tools]") {
  CHECK(misses_patches("claude", "Edit|Write"));
  CHECK(misses_patches("claude", "Write"));
  CHECK(misses_patches("claude", "^(Bash|Edit)$"));
  CHECK(misses_patches("claude", "edit_file"));
  CHECK(misses_patches("claude", ".*_file", HookPoint::post_tool_use));
  CHECK(misses_patches("gemini", "replace"));
  CHECK(misses_patches("docker_agent", "write_file"));
  SECTION("nothing is missed") {
    CHECK_FALSE(misses_patches("claude", ""));
    CHECK_FALSE(misses_patches("claude", "*"));
    CHECK_FALSE(misses_patches("claude", "Edit|Write|apply_patch"));
    CHECK_FALSE(misses_patches("claude", "^(Bash|Edit)$|apply_patch"));
  }
  SECTION("it is about something else") {
    CHECK_FALSE(misses_patches("claude", "Bash|Read"));
    CHECK_FALSE(misses_patches("claude", "apply_patch"));
    CHECK_FALSE(misses_patches("gemini", "Edit|Write"));  // names of another dialect
    CHECK_FALSE(misses_patches("claude", "Edit(", HookPoint::pre_tool_use));
    CHECK_FALSE(misses_patches("claude", "Edit", HookPoint::stop));
  }
}

TEST_CASE("hook coverage: only where the agent has apply_patch", "[tools]") {
  const auto hooks =
      hooks_of("claude", {{.point = HookPoint::pre_tool_use, .matcher = "Edit", .command = "x"}});
  const HookSpec& hook = hooks.hooks.front();
  const auto misses = [&](const std::vector<agent::ToolSpec>& tools) {
    return tools::missed_changes(hooks, hook, tools).has_value();
  };
  CHECK(misses({{.name = "apply_patch"}}));
  CHECK_FALSE(misses({{.name = "edit_file"}}));
  CHECK_FALSE(misses({{.kind = agent::ToolSpec::Kind::command, .name = "apply_patch"}}));
}

TEST_CASE("hook coverage: a hook for apply_patch alone, at the same point, is enough", "[tools]") {
  const HookSpec edits{.point = HookPoint::pre_tool_use, .matcher = "Edit", .command = "x"};
  const auto misses = [&](HookPoint point, const std::string& matcher) {
    const auto hooks =
        hooks_of("claude", {edits, {.point = point, .matcher = matcher, .command = "y"}});
    return tools::missed_changes(hooks, edits, k_tools).has_value();
  };
  CHECK_FALSE(misses(HookPoint::pre_tool_use, "apply_patch"));
  CHECK(misses(HookPoint::post_tool_use, "apply_patch"));
  CHECK(misses(HookPoint::pre_tool_use, "*"));
  CHECK(misses(HookPoint::pre_tool_use, "Edit|Write|apply_patch"));
}
