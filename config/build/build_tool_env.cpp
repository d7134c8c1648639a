#include "config/build/build.h"
#include "config/check.h"
#include "config/shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace config {
namespace {

void warn_of_key(std::string_view variable, std::string_view who, Span span, Problems& problems) {
  problems.warn(span,
                fmt::format("{} gets `{}`, the key of a model", who, variable),
                "take it out if it can do without: what it starts can read the key");
}

bool is_model_key(std::string_view variable, const ToolWorld& world) {
  return std::ranges::find(world.key_variables, variable) != world.key_variables.end();
}

void hand_on(const Value& name,
             std::string_view who,
             const ToolWorld& world,
             agent::Environment& env,
             Problems& problems) {
  if (name.kind != Kind::text || !fits(Shape::variables, name.text)) {
    return;
  }
  if (name.text.ends_with('*')) {
    for (const std::string& variable : handed_on(name.text, world)) {
      env.insert_or_assign(variable, world.environment.at(variable));
    }
    return;
  }
  const auto variable = world.environment.find(name.text);
  if (variable == world.environment.end()) {
    problems.add(name.span,
                 fmt::format("the environment variable `{}` is not set", name.text),
                 fmt::format("set it, or write a map with a default: "
                             "`env: {{{0}: \"${{env:{0}:-default}}\"}}`",
                             name.text));
    return;
  }
  if (is_model_key(name.text, world)) {
    warn_of_key(name.text, who, name.span, problems);
  }
  env.insert_or_assign(name.text, variable->second);
}

void give(const Entry& entry,
          std::string_view who,
          const ToolWorld& world,
          agent::Environment& env,
          Problems& problems) {
  if (!entry.value.is_scalar() || is_free_key(entry.key)) {
    return;
  }
  for (const std::string& variable : world.key_variables) {
    const auto key = agent::trimmed_value_of(world.environment, variable);
    if (!key.empty() && entry.value.text.contains(key)) {
      warn_of_key(variable, who, entry.value.span, problems);
      break;
    }
  }
  env.insert_or_assign(entry.key, entry.value.text);
}

}  // namespace

std::vector<std::string> handed_on(std::string_view name, const ToolWorld& world) {
  if (!name.ends_with('*')) {
    return {std::string(name)};
  }
  const std::string_view beginning = name.substr(0, name.size() - 1);
  std::vector<std::string> names;
  for (auto variable = world.environment.lower_bound(beginning);
       variable != world.environment.end() && variable->first.starts_with(beginning);
       ++variable) {
    if (!is_model_key(variable->first, world)) {
      names.push_back(variable->first);
    }
  }
  return names;
}

agent::Environment build_tool_env(const Value& value,
                                  std::string_view who,
                                  const ToolWorld& world,
                                  Problems& problems) {
  agent::Environment env;
  for (const Value& name : value.items) {
    hand_on(name, who, world, env, problems);
  }
  for (const Entry& entry : value.entries) {
    give(entry, who, world, env, problems);
  }
  return env;
}

}  // namespace config
