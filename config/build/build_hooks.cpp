#include "config/build/build_hooks.h"

#include "config/build/build.h"
#include "config/build/expression.h"
#include "config/read.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace config {
namespace {

using agent::HookPoint;
using agent::HookSpec;

// What a failure means where nobody says it.
HookSpec::Kind standard_kind(HookPoint point) {
  return point == HookPoint::run_start || point == HookPoint::pre_model ||
                 point == HookPoint::pre_tool_use
             ? HookSpec::Kind::guard
             : HookSpec::Kind::observe;
}

void check_matcher(const Value& item, HookPoint point, Problems& problems) {
  const Value* matcher = value_at(item, "matcher");
  if (matcher == nullptr) {
    return;
  }
  if (!is_about_a_call(point)) {
    problems.add(matcher->span,
                 fmt::format("`matcher` names tools, and `{}` is about none", to_string(point)),
                 "leave it out");
    return;
  }
  if (matcher->text != "*") {
    matches_nothing(*matcher, "matcher", problems);
  }
}

HookSpec build_hook(const Value& item,
                    HookPoint point,
                    const ToolWorld& world,
                    Problems& problems) {
  HookSpec hook{
      .point = point, .matcher = text_at(item, "matcher"), .command = text_at(item, "command")};
  if (const Value* const command = value_at(item, "command")) {
    hook.where = problems.source().where(command->span);
  }
  hook.timeout = duration_at(item, "timeout").value_or(hook.timeout);
  const std::string kind = text_at(item, "kind");
  hook.kind = kind == "observe"     ? HookSpec::Kind::observe
              : kind == "guard"     ? HookSpec::Kind::guard
              : kind == "transform" ? HookSpec::Kind::transform
                                    : standard_kind(point);
  hook.may_fail = text_at(item, "on_error") == "ignore";
  hook.sandbox = build_command_sandbox(item);
  hook.in_programs = build_program_uses(item, world, problems);
  if (const Value* env = value_at(item, "env")) {
    hook.env =
        build_tool_env(*env, fmt::format("the {} hook", agent::to_string(point)), world, problems);
  }
  return hook;
}

}  // namespace

agent::HooksSpec build_hooks(const Value& map,
                             std::span<const agent::ToolSpec> tools,
                             const ToolWorld& world,
                             Problems& problems) {
  const KnownNames& known = world.known;
  agent::HooksSpec spec;
  std::vector<const Value*> matchers;  // of the hooks, in the same order
  spec.dialect = text_at(map, "dialect", spec.dialect);
  for (const Entry& entry : map.entries) {
    const auto point = agent::point_from(entry.key);
    if (!point) {
      continue;
    }
    for (const Value& item : entry.value.items) {
      if (item.kind != Kind::map) {
        continue;
      }
      check_matcher(item, *point, problems);
      spec.hooks.push_back(build_hook(item, *point, world, problems));
      matchers.push_back(value_at(item, "matcher"));
    }
  }
  for (std::size_t at = 0; at < matchers.size(); ++at) {
    auto warning = matchers[at] != nullptr && known.hook_warning
                       ? known.hook_warning(spec, spec.hooks[at], tools)
                       : std::nullopt;
    if (warning) {
      problems.warn(matchers[at]->span, std::move(warning->message), std::move(warning->help));
    }
  }
  return spec;
}

}  // namespace config
