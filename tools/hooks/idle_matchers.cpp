#include "tools/hooks/idle_matchers.h"

#include "agent/hook_point.h"
#include "agent/text.h"
#include "tools/hooks/hook_dialect.h"
#include "tools/hooks/name_matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tools {
namespace {

agent::Warning idle(std::string_view what, std::string_view key, std::string_view pattern) {
  return {.message = fmt::format("the {} with `{}: {}` is about no tool of this agent",
                                 what,
                                 key,
                                 agent::one_line(pattern, 100)),
          .help = fmt::format("it is a regular expression over the whole name of a tool{}: `errand "
                              "tools list AGENT` and `errand mcp tools AGENT` have the names",
                              pattern.ends_with("*") && !pattern.ends_with(".*")
                                  ? ", in which `.*` stands for anything"
                                  : ""),
          .kind = "idle_rule"};
}

// Whether the pattern may be about a tool whose name begins so: by what it begins with itself.
bool may_be_about(std::string_view pattern, std::string_view beginning) {
  pattern.remove_prefix(pattern.starts_with('^') ? 1 : 0);
  const std::size_t end = std::min(pattern.find_first_of("\\$.|?*+()[]{}"), pattern.size());
  std::string_view literal = pattern.substr(0, end);
  if (end + 1 == pattern.size() && pattern[end] == '*' && literal == beginning) {
    return false;  // written as for files: nothing but that letter may come more often
  }
  if (end < pattern.size() && std::string_view("?*{").contains(pattern[end])) {
    literal.remove_suffix(literal.empty() ? 0 : 1);  // that letter may be missing
  }
  return pattern.contains('|') || beginning.starts_with(literal) || literal.starts_with(beginning);
}

bool may_be_about(std::string_view pattern, std::span<const std::string> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](const auto& one) { return may_be_about(pattern, one); });
}

}  // namespace

std::vector<agent::Warning> idle_matchers(const agent::HooksSpec& hooks,
                                          const agent::GuardrailsSpec& guardrails,
                                          const std::set<std::string>& names,
                                          std::span<const std::string> unknown) {
  std::vector<agent::Warning> warnings;
  const HookDialect* dialect = hook_dialect(hooks.dialect);
  for (const agent::HookSpec& hook : hooks.hooks) {
    const NameMatcher matcher(hook.matcher);
    if (dialect != nullptr && agent::is_about_a_call(hook.point) &&
        !may_be_about(hook.matcher, unknown) && std::ranges::none_of(names, [&](const auto& name) {
          return is_about(*dialect, matcher, name);
        })) {
      warnings.push_back(
          idle(fmt::format("{} hook", agent::to_string(hook.point)), "matcher", hook.matcher));
    }
  }
  for (const agent::GuardrailSpec& check : guardrails.checks) {
    const NameMatcher matcher(check.tool);
    if (!may_be_about(check.tool, unknown) &&
        std::ranges::none_of(names, [&](const auto& name) { return matcher.fits(name); })) {
      warnings.push_back(
          idle(fmt::format("guardrail `{}`", agent::one_line(check.name, 60)), "tool", check.tool));
    }
  }
  return warnings;
}

}  // namespace tools
