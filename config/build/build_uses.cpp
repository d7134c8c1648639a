// Where the values of the environment stand in an agent file.
#include "config/build/build.h"
#include "config/check.h"
#include "config/read.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

namespace config {
namespace {

using Uses = std::vector<agent::EnvironmentUse>;

// Numbers and times. All else can come to be words: a denial quotes the rule, a refusal the path.
constexpr auto k_numbers = std::to_array<std::string_view>({"version", "limits", "retry"});
// Where models and servers are: what requests carry is looked at for each of them.
constexpr auto k_with_requests = std::to_array<std::string_view>(
    {"model", "fallback", "guardrails", "mcp_servers", "sub_agents"});
constexpr auto k_of_requests =
    std::to_array<std::string_view>({"base_url", "headers", "url", "oauth"});

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

  void add_below(const Value& value, bool has_requests) {
    for (const std::string& name : value.variables) {
      add(name, value.span);
    }
    for (const Value& item : value.items) {
      add_below(item, has_requests);
    }
    for (const Entry& entry : value.entries) {
      const bool is_request = has_requests && is_one_of(k_of_requests, entry.key);
      if (!is_request) {
        add_below(entry.value, has_requests);
      }
    }
  }

  // `env: [NAME]` is short for the value of NAME.
  void add_handed_on(const Value& item, const ToolWorld& world) {
    const Value* env = value_at(item, "env");
    for (const Value& name : env != nullptr ? std::span(env->items) : std::span<const Value>()) {
      for (const std::string& variable : handed_on(name.text, world)) {
        add(variable, name.span);
      }
    }
  }

  Uses take() { return std::move(uses_); }

 private:
  const Problems& problems_;
  std::set<std::string, std::less<>> seen_;
  Uses uses_;
};

// The maps that can have `env`: tools, hooks, guardrails and MCP servers.
template <typename Visit>
void for_each_program(const Value& root, Visit visit) {
  if (const Value* tools = value_at(root, "tools")) {
    for (const Value& tool : tools->items) {
      const bool is_short = tool.entries.size() == 1 && tool.find("env") == nullptr;
      visit(is_short ? tool.entries.front().value : tool);
    }
  }
  if (const Value* servers = value_at(root, "mcp_servers")) {
    for (const Entry& server : servers->entries) {
      visit(server.value);
    }
  }
  for (const char* key : {"hooks", "guardrails"}) {
    if (const Value* map = value_at(root, key)) {
      for (const Entry& list : map->entries) {
        std::ranges::for_each(list.value.items, visit);
      }
    }
  }
}

}  // namespace

Uses build_uses(const Value& value, const Problems& problems) {
  UseCollector collector(problems);
  collector.add_below(value, false);
  return collector.take();
}

Uses build_text_uses(const Value& root, const ToolWorld& world, const Problems& problems) {
  UseCollector collector(problems);
  for (const Entry& entry : root.entries) {
    if (!is_free_key(entry.key) && !is_one_of(k_numbers, entry.key)) {
      collector.add_below(entry.value, is_one_of(k_with_requests, entry.key));
    }
  }
  for_each_program(root, [&](const Value& item) {
    if (const Value* env = value_at(item, "env")) {
      collector.add_below(*env, false);  // whatever a variable of it is called
    }
    collector.add_handed_on(item, world);
  });
  return collector.take();
}

Uses build_program_uses(const Value& item, const ToolWorld& world, const Problems& problems) {
  UseCollector collector(problems);
  for (const char* key : {"command", "args", "env"}) {
    if (const Value* value = value_at(item, key)) {
      collector.add_below(*value, false);
    }
  }
  collector.add_handed_on(item, world);
  return collector.take();
}

}  // namespace config
