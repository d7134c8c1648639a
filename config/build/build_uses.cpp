// Where the values of the environment stand in an agent file.
#include "config/build/build.h"
#include "config/check.h"
#include "config/read.h"

#include <algorithm>
#include <array>

namespace config {
namespace {

using Uses = std::vector<agent::EnvironmentUse>;

// What stays on this machine: it is neither shown to a model nor given to a program.
constexpr auto k_local = std::to_array<std::string_view>(
    {"version", "limits", "permissions", "retry", "sandbox", "session"});
// Where models are: what their requests carry is looked at for each of them.
constexpr auto k_with_models = std::to_array<std::string_view>({"model", "fallback", "guardrails"});

bool is_one_of(std::span<const std::string_view> words, std::string_view key) {
  return std::ranges::find(words, key) != words.end();
}

void add(const Value& value, const Problems& problems, Uses& uses) {
  for (const std::string& name : value.variables) {
    uses.push_back({.name = name, .where = problems.source().where(value.span)});
  }
}

void add_below(const Value& value, bool has_models, const Problems& problems, Uses& uses) {
  add(value, problems, uses);
  for (const Value& item : value.items) {
    add_below(item, has_models, problems, uses);
  }
  for (const Entry& entry : value.entries) {
    const bool is_request = has_models && (entry.key == "base_url" || entry.key == "headers");
    if (!is_request) {
      add_below(entry.value, has_models, problems, uses);
    }
  }
}

// `env: [NAME]` is short for the value of NAME.
void add_handed_on(const Value& tools, const Problems& problems, Uses& uses) {
  for (const Value& tool : tools.items) {
    const bool is_short = tool.entries.size() == 1 && tool.find("env") == nullptr;
    const Value& map = is_short ? tool.entries.front().value : tool;
    const Value* env = value_at(map, "env");
    for (const Value& name : env != nullptr ? env->items : std::vector<Value>{}) {
      uses.push_back({.name = name.text, .where = problems.source().where(name.span)});
    }
  }
}

}  // namespace

Uses build_uses(const Value& value, const Problems& problems) {
  Uses uses;
  add_below(value, false, problems, uses);
  return uses;
}

Uses build_text_uses(const Value& root, const Problems& problems) {
  Uses uses;
  for (const Entry& entry : root.entries) {
    if (!is_free_key(entry.key) && !is_one_of(k_local, entry.key)) {
      add_below(entry.value, is_one_of(k_with_models, entry.key), problems, uses);
    }
  }
  if (const Value* tools = value_at(root, "tools")) {
    add_handed_on(*tools, problems, uses);
  }
  return uses;
}

}  // namespace config
