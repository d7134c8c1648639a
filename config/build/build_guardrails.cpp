#include "config/build/build_guardrails.h"

#include "agent/text.h"
#include "config/build/build.h"
#include "config/build/expression.h"
#include "config/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace config {
namespace {

using agent::GuardrailSpec;
using Of = GuardrailSpec::Of;
using Look = GuardrailSpec::Kind;
using Action = GuardrailSpec::Action;

constexpr std::size_t k_longest_name = 60;

template <typename T>
struct Word {
  std::string_view word;
  T value;
};
constexpr auto k_lists = std::to_array<Word<Of>>({{"input", Of::input},
                                                  {"output", Of::output},
                                                  {"tool_call", Of::tool_call},
                                                  {"tool_result", Of::tool_result}});
constexpr auto k_kinds = std::to_array<Word<Look>>({{"pattern", Look::pattern},
                                                    {"find", Look::find},
                                                    {"command", Look::command},
                                                    {"judge", Look::judge}});
constexpr auto k_actions = std::to_array<Word<Action>>({{"warn", Action::warn},
                                                        {"redact", Action::redact},
                                                        {"deny", Action::deny},
                                                        {"kill", Action::kill}});

bool is_local(Look kind) {
  return kind == Look::pattern || kind == Look::find;
}

bool is_of_tool(Of of) {
  return of == Of::tool_call || of == Of::tool_result;
}

void check_pattern(const Value& value, Problems& problems) {
  if (!value.text.empty() && matches_nothing(value, "pattern", problems).value_or(false)) {
    problems.add(value.span,
                 "the pattern matches the empty text: it would find something everywhere",
                 "let it match at least one character");
  }
}

// Exactly one of the four; what of it is there.
const Entry* look_for_kind(const Value& item, GuardrailSpec& spec, Problems& problems) {
  const Entry* found = nullptr;
  for (const auto& [word, kind] : k_kinds) {
    const Entry* entry = item.find(word);
    if (entry == nullptr) {
      continue;
    }
    if (found != nullptr) {
      problems.add(entry->key_span,
                   fmt::format("a check has `{}` or `{}`, not both", found->key, word),
                   "make two checks of it");
      continue;
    }
    found = entry;
    spec.kind = kind;
    spec.what = entry->value.text;
    spec.where = problems.source().where(entry->value.span);
  }
  if (found == nullptr) {
    problems.add(
        item.span, "this check looks for nothing", "give it one of: pattern, find, command, judge");
  }
  return found;
}

void check_action(const Value& item, const GuardrailSpec& spec, Problems& problems) {
  const Value* action = value_at(item, "action");
  if (action == nullptr || spec.action != Action::redact) {
    return;
  }
  if (spec.of == Of::tool_call) {
    problems.add(action->span,
                 "a check of calls cannot redact: that would change what runs",
                 "write deny, so that the model makes another call, or warn");
  } else if (!is_local(spec.kind)) {
    problems.add(action->span,
                 "only `pattern` and `find` can redact: they alone know the place",
                 "write warn, deny or kill");
  }
}

// Keys that say nothing for this kind of check.
void check_keys(const Value& item, const GuardrailSpec& spec, Problems& problems) {
  const auto refuse = [&](std::string_view key, bool is_wrong, std::string_view why) {
    const Entry* entry = item.find(key);
    if (entry != nullptr && is_wrong) {
      problems.add(entry->key_span, std::string(why), "take it out");
    }
  };
  refuse("tool", !is_of_tool(spec.of), "`tool` is for checks of tool_call and tool_result");
  refuse("model", spec.kind != Look::judge, "`model` is for a `judge`");
  refuse("sandbox", spec.kind != Look::command, "`sandbox` is for a `command`");
  refuse("env", spec.kind != Look::command, "`env` is for a `command`");
  refuse("timeout", is_local(spec.kind), "`timeout` is for a `command` or a `judge`");
}

// One line, and short: it stands in messages. A pattern may be the very words that nobody is to
// read.
std::string standard_name(const GuardrailSpec& spec) {
  std::string name = spec.kind == Look::pattern ? "pattern" : spec.what;
  std::ranges::replace(name, '\n', ' ');
  return std::string(agent::prefix(agent::trimmed(name), k_longest_name));
}

GuardrailSpec build_check(const Value& item, Of of, const ToolWorld& world, Problems& problems) {
  GuardrailSpec spec{.of = of, .name = text_at(item, "name"), .what = {}, .tool = {}, .model = {}};
  const Entry* kind = look_for_kind(item, spec, problems);
  const std::string action = text_at(item, "action");
  if (const auto* row = std::ranges::find(k_actions, action, &Word<Action>::word);
      row != k_actions.end()) {
    spec.action = row->value;
  }
  if (kind != nullptr) {
    check_action(item, spec, problems);
    check_keys(item, spec, problems);
    if (spec.kind == Look::pattern && kind->value.kind == Kind::text) {
      check_pattern(kind->value, problems);
    }
  }
  spec.timeout = duration_at(item, "timeout").value_or(spec.timeout);
  if (const Value* tool = value_at(item, "tool"); tool != nullptr && tool->text != "*") {
    spec.tool = tool->text;
    if (tool->kind == Kind::text) {
      matches_nothing(*tool, "tool", problems);
    }
  }
  if (const Value* model = value_at(item, "model")) {
    spec.model = build_model(*model, world.known, problems);
  }
  spec.sandbox = build_command_sandbox(item);
  spec.in_programs = build_program_uses(item, world, problems);
  if (const Value* env = value_at(item, "env")) {
    spec.env = build_tool_env(*env, "a guardrail", world, problems);
  }
  return spec;
}

// Every check has a name of its own.
void name_checks(std::vector<GuardrailSpec>& checks, std::set<std::string> names) {
  std::map<std::string, int> numbers;  // the last one behind each name
  for (GuardrailSpec& check : checks) {
    if (!check.name.empty()) {
      continue;
    }
    const std::string name = standard_name(check);
    int& number = numbers.try_emplace(name, 1).first->second;
    check.name = name;
    while (!names.insert(check.name).second) {
      check.name = fmt::format("{} {}", name, ++number);
    }
  }
}

}  // namespace

agent::GuardrailsSpec build_guardrails(const Value& map,
                                       const ToolWorld& world,
                                       Problems& problems) {
  agent::GuardrailsSpec spec;
  spec.redact_secrets = boolean_at(map, "redact_secrets", spec.redact_secrets);
  spec.kill_switch = text_at(map, "kill_switch");
  if (const auto retries = count_at(map, "retries")) {
    spec.retries = static_cast<int>(std::clamp<std::int64_t>(*retries, 0, 100));
  }
  std::set<std::string> names;
  for (const auto& [word, of] : k_lists) {
    const Value* list = value_at(map, word);
    if (list == nullptr) {
      continue;
    }
    for (const Value& item : list->items) {
      if (item.kind != Kind::map) {
        continue;
      }
      spec.checks.push_back(build_check(item, of, world, problems));
      const std::string& name = spec.checks.back().name;
      if (!name.empty() && !names.insert(name).second) {
        problems.add(value_at(item, "name")->span,
                     fmt::format("two checks are called `{}`", agent::one_line(name)),
                     "give each a name of its own");
      }
    }
  }
  name_checks(spec.checks, std::move(names));
  return spec;
}

}  // namespace config
