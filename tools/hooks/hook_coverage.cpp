#include "tools/hooks/hook_coverage.h"

#include "agent/text.h"
#include "tools/hooks/hook_dialect.h"
#include "tools/hooks/name_matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tools {
namespace {

constexpr std::string_view k_patch = "apply_patch";
constexpr std::array<std::string_view, 2> k_file_tools = {"edit_file", "write_file"};

bool has_patches(std::span<const agent::ToolSpec> tools) {
  return std::ranges::any_of(tools, [](const agent::ToolSpec& tool) {
    return tool.kind == agent::ToolSpec::Kind::builtin && tool.name == k_patch;
  });
}

// What a hook is told of, of the tools that change files.
struct Covered {
  std::vector<std::string_view> file_tools;
  bool has_patch = false;
};

Covered covered_by_hook(const HookDialect& dialect, const agent::HookSpec& hook) {
  const NameMatcher matcher(hook.matcher);
  Covered coverage{.file_tools = {}, .has_patch = is_about(dialect, matcher, k_patch)};
  for (const std::string_view tool : k_file_tools) {
    if (is_about(dialect, matcher, tool)) {
      coverage.file_tools.push_back(tool);
    }
  }
  return coverage;
}

}  // namespace

std::optional<agent::Error> missed_changes(const agent::HooksSpec& hooks,
                                           const agent::HookSpec& hook,
                                           std::span<const agent::ToolSpec> tools) {
  const HookDialect* dialect = hook_dialect(hooks.dialect);
  if (dialect == nullptr || !agent::is_about_a_call(hook.point) || !has_patches(tools)) {
    return std::nullopt;
  }
  const Covered own = covered_by_hook(*dialect, hook);
  const bool is_made_up_for = std::ranges::any_of(hooks.hooks, [&](const agent::HookSpec& other) {
    const Covered coverage = covered_by_hook(*dialect, other);
    return other.point == hook.point && coverage.has_patch && coverage.file_tools.empty();
  });
  if (own.file_tools.empty() || own.has_patch || is_made_up_for) {
    return std::nullopt;
  }
  const std::string matcher = agent::one_line(hook.matcher);
  return agent::Error{
      .code = agent::Code::config_invalid,
      .message =
          fmt::format("the {} hook for `{}` is told of {}, but not of {}, which changes files, too",
                      agent::to_string(hook.point),
                      matcher,
                      fmt::join(own.file_tools, " and "),
                      k_patch),
      .help = fmt::format(
          "write `{}|{}`, and have the command look at `tool_input.patch`; or give {} a hook of "
          "its own",
          matcher,
          k_patch,
          k_patch)};
}

}  // namespace tools
