#include "config/build_hooks.h"

#include "agent/text.h"
#include "config/read.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace config {
namespace {

using agent::HookSpec;
using agent::Point;

bool is_about_a_call(Point point) {
  return point == Point::pre_tool_use || point == Point::post_tool_use;
}

// What a failure means where nobody says it.
HookSpec::Kind standard_kind(Point point) {
  return point == Point::run_start || point == Point::pre_model || point == Point::pre_tool_use
             ? HookSpec::Kind::guard
             : HookSpec::Kind::observe;
}

void check_matcher(const Value& item, Point point, const Known& known, Problems& problems) {
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
  if (const auto why = known.pattern_error ? known.pattern_error(matcher->text) : std::nullopt) {
    problems.add(matcher->span,
                 fmt::format("`{}` is no regular expression: {}",
                             agent::printable(matcher->text),
                             agent::printable(*why)),
                 "write RE2 over the whole name of a tool: shell, edit_file|write_file, mcp__.*");
  }
}

HookSpec build_hook(const Value& item, Point point) {
  HookSpec hook{
      .point = point, .matcher = text_at(item, "matcher"), .command = text_at(item, "command")};
  hook.timeout = duration_at(item, "timeout").value_or(hook.timeout);
  const std::string kind = text_at(item, "kind");
  hook.kind = kind == "observe"     ? HookSpec::Kind::observe
              : kind == "guard"     ? HookSpec::Kind::guard
              : kind == "transform" ? HookSpec::Kind::transform
                                    : standard_kind(point);
  hook.may_fail = text_at(item, "on_error") == "ignore";
  return hook;
}

}  // namespace

agent::HooksSpec build_hooks(const Value& map, const Known& known, Problems& problems) {
  agent::HooksSpec spec;
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
      check_matcher(item, *point, known, problems);
      spec.hooks.push_back(build_hook(item, *point));
    }
  }
  return spec;
}

}  // namespace config
