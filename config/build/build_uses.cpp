// Where the values of the environment stand in an agent file.
#include "config/build/build.h"
#include "config/check.h"
#include "config/read.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

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

// The first use of each variable: a file may name one a hundred thousand times.
class UseCollector {
 public:
  explicit UseCollector(const Problems& problems) : problems_(problems) {}

  void add(const std::string& name, Span span) {
    if (seen_.insert(name).second) {
      uses_.push_back({.name = name, .where = problems_.source().where(span)});
    }
  }

  void add_below(const Value& value, bool has_models) {
    for (const std::string& name : value.variables) {
      add(name, value.span);
    }
    for (const Value& item : value.items) {
      add_below(item, has_models);
    }
    for (const Entry& entry : value.entries) {
      const bool is_request = has_models && (entry.key == "base_url" || entry.key == "headers");
      if (!is_request) {
        add_below(entry.value, has_models);
      }
    }
  }

  // `env: [NAME]` is short for the value of NAME.
  void add_handed_on(const Value& tools) {
    for (const Value& tool : tools.items) {
      const bool is_short = tool.entries.size() == 1 && tool.find("env") == nullptr;
      const Value& map = is_short ? tool.entries.front().value : tool;
      if (const Value* env = value_at(map, "env")) {
        std::ranges::for_each(env->items, [&](const Value& name) { add(name.text, name.span); });
      }
    }
  }

  Uses take() { return std::move(uses_); }

 private:
  const Problems& problems_;
  std::set<std::string, std::less<>> seen_;
  Uses uses_;
};

}  // namespace

Uses build_uses(const Value& value, const Problems& problems) {
  UseCollector collector(problems);
  collector.add_below(value, false);
  return collector.take();
}

Uses build_text_uses(const Value& root, const Problems& problems) {
  UseCollector collector(problems);
  for (const Entry& entry : root.entries) {
    if (!is_free_key(entry.key) && !is_one_of(k_local, entry.key)) {
      collector.add_below(entry.value, is_one_of(k_with_models, entry.key));
    }
  }
  if (const Value* tools = value_at(root, "tools")) {
    collector.add_handed_on(*tools);
  }
  return collector.take();
}

}  // namespace config
