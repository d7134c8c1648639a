// `sub_agents`: agents that the agent can call, each in a file of its own or written out right
// there. `handoffs`: those that it can hand its conversation over to.
#include "agent/text.h"
#include "config/build/build.h"
#include "config/check.h"
#include "config/read.h"
#include "config/shapes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace config {
namespace {

using agent::SubAgentSpec;
using agent::ToolSpec;

// Where it stands in a file of its own; the agent itself has no such keys.
constexpr auto k_keys = std::to_array<Key>({
    // clang-format off
    {.path = "agent", .type = Type::text, .help = "The agent file. Paths start at the file that names it.", .example = "tester.yaml", .shape = Shape::filled},
    {.path = "on_error", .type = Type::choice, .help = "What a failure of the sub-agent means.", .example = "fatal", .default_value = "report", .choices = "report|fatal"},
    // clang-format on
});

bool is_written_out(const Value& value) {
  return value.kind == Kind::map && value.find("agent") == nullptr;
}

Entry plain_entry(std::string key, Kind kind, std::string text, Span span) {
  return {
      .key = std::move(key),
      .key_span = span,
      .value = {.kind = kind, .span = span, .text = std::move(text), .items = {}, .entries = {}}};
}

// What stands right there, with what it has of the agent around it, as a file of its own.
Value whole_file(const Entry& item, const Value& around) {
  Value whole = item.value;
  std::erase_if(whole.entries, [](const Entry& entry) { return entry.key == "on_error"; });
  const auto add = [&](Entry entry) {
    if (whole.find(entry.key) == nullptr) {
      whole.entries.insert(whole.entries.begin(), std::move(entry));
    }
  };
  if (const Entry* model = around.find("model")) {
    add(*model);
  }
  add(plain_entry("name", Kind::text, item.key, item.key_span));
  add(plain_entry("version", Kind::integer, "1", item.key_span));
  return whole;
}

class SubAgentBuilder {
 public:
  SubAgentBuilder(const Value& root, const ToolWorld& world, Problems& problems)
      : root_(root), world_(world), problems_(problems) {}

  std::vector<SubAgentSpec> build() {
    std::vector<SubAgentSpec> agents;
    for (const Entry& item : map_at(root_, "sub_agents").entries) {
      if (!is_free_key(item.key)) {
        agents.push_back(of(item));
      }
    }
    return agents;
  }

 private:
  SubAgentSpec of(const Entry& item) {
    const Value& value = item.value;
    SubAgentSpec agent{.name = item.key, .where = problems_.source().where(item.key_span)};
    if (value.kind != Kind::map) {
      agent.file = value.text;
    } else if (is_written_out(value)) {
      check_on_error(value);
      const Value whole = whole_file(item, root_);
      check(whole, keys(), world_.known.tools, problems_);
      agent.agent = std::make_shared<agent::AgentSpec>(
          build_agent(whole, world_.directory, world_.known, world_.environment, problems_));
      refuse_steps(whole);
    } else {
      check(value, k_keys, {}, problems_);
      agent.file = text_at(value, "agent");
    }
    if (text_at(value, "on_error") == "fatal") {
      agent.on_error = ToolSpec::OnError::fatal;
    }
    return agent;
  }

  void check_on_error(const Value& value) {
    const Entry* entry = value.find("on_error");
    if (entry != nullptr && entry->value.text != "report" && entry->value.text != "fatal") {
      problems_.add(
          entry->value.span,
          fmt::format("`on_error` cannot be `{}`", agent::one_line(entry->value.text, 60)),
          "one of: report, fatal");
    }
  }

  void refuse_steps(const Value& whole) {
    if (const Entry* steps = whole.find("steps")) {
      problems_.add(steps->key_span,
                    "a flow is no sub-agent",
                    "write it into a file, and let `errand run` run it");
    }
  }

  const Value& root_;
  const ToolWorld& world_;
  Problems& problems_;
};

}  // namespace

std::vector<agent::SubAgentSpec> build_sub_agents(const Value& root,
                                                  const ToolWorld& world,
                                                  Problems& problems) {
  return SubAgentBuilder(root, world, problems).build();
}

std::vector<agent::HandoffSpec> build_handoffs(const Value& root, Problems& problems) {
  std::vector<agent::HandoffSpec> handoffs;
  const Value* list = value_at(root, "handoffs");
  for (const Value& item : list != nullptr ? list->items : std::vector<Value>()) {
    std::filesystem::path file = item.text;
    if (!file.has_extension()) {
      file += ".yaml";
    }
    agent::HandoffSpec handoff{.name = file.stem().string(),
                               .file = file.string(),
                               .where = problems.source().where(item.span)};
    if (!fits(Shape::agent_name, handoff.name)) {
      problems.add(item.span,
                   fmt::format("`{}` cannot be the name of a tool, which a hand-over is",
                               agent::one_line(handoff.tool(), 80)),
                   "call the file by letters, digits, - and _");
    } else if (std::ranges::find(handoffs, handoff.name, &agent::HandoffSpec::name) !=
               handoffs.end()) {
      problems.add(item.span,
                   fmt::format("`handoffs` names `{}` twice", handoff.name),
                   "the model tells them apart by the names of their files");
    } else {
      handoffs.push_back(std::move(handoff));
    }
  }
  return handoffs;
}

void for_each_written_out(const Value& root,
                          const std::function<void(const std::string& name, const Value&)>& visit) {
  for (const Entry& item : map_at(root, "sub_agents").entries) {
    if (!is_free_key(item.key) && is_written_out(item.value)) {
      visit(item.key, whole_file(item, root));
    }
  }
}

}  // namespace config
