#include "cli/flow_tree.h"

#include "cli/flow_nesting.h"
#include "cli/narrowed_rights.h"
#include "cli/plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::AgentSpec;
using agent::Error;

class TreeReader {
 public:
  TreeReader(const LoadSpec& load, const Context& context, std::vector<Error>& errors)
      : load_(load), context_(context), errors_(errors) {}

  std::vector<std::unique_ptr<FlowTree>> members_of(const AgentSpec& flow,
                                                    const FlowNesting& nesting) {
    std::vector<std::unique_ptr<FlowTree>> members;
    for (const agent::StepSpec& step : flow.steps) {
      members.push_back(member_of(flow, step, nesting));
    }
    return members;
  }

  // Below those that it works for, the nearest first; circles and what lies too deep are said
  // elsewhere.
  void add_agents_below(FlowTree& tree, std::vector<const AgentSpec*> above, bool is_in_team) {
    above.insert(above.begin(), &tree.spec);
    if (std::cmp_greater(above.size(), above.back()->limits.max_depth)) {
      return;
    }
    for (const agent::SubAgentSpec& sub : tree.spec.sub_agents) {
      const fs::path file = fs::path(tree.spec.directory) / sub.file;
      const bool is_above = !sub.file.empty() && std::ranges::any_of(above, [&](const auto* one) {
        return is_same_file(one->file, file);
      });
      if (is_above) {
        continue;
      }
      if (auto member = agent_below(sub.agent ? std::optional(*sub.agent) : load_(file), above)) {
        tree.members.push_back(std::move(member));
        add_agents_below(*tree.members.back(), above, false);
      }
    }
    if (!is_in_team) {
      add_team(tree, above);
    }
  }

 private:
  void add_team(FlowTree& first, const std::vector<const AgentSpec*>& above) {
    std::vector<const AgentSpec*> team{&first.spec};
    for (std::size_t at = 0; at < team.size(); ++at) {
      for (const agent::HandoffSpec& handoff : team[at]->handoffs) {
        const fs::path file = fs::path(team[at]->directory) / handoff.file;
        const bool is_known = std::ranges::any_of(
            team, [&](const auto* one) { return is_same_file(one->file, file); });
        auto member = is_known ? nullptr : agent_below(load_(file), above);
        if (member) {
          first.members.push_back(std::move(member));
          team.push_back(&first.members.back()->spec);
          add_agents_below(*first.members.back(), above, true);
        }
      }
    }
  }

  std::unique_ptr<FlowTree> agent_below(std::optional<AgentSpec> spec,
                                        const std::vector<const AgentSpec*>& above) const {
    if (!spec || !spec->steps.empty()) {
      return nullptr;
    }
    for (const AgentSpec* one : above) {
      (void)narrow_sandbox(*spec, *one, context_);  // what it cuts is said where it runs
    }
    return std::make_unique<FlowTree>(FlowTree{.spec = *std::move(spec)});
  }

  std::unique_ptr<FlowTree> member_of(const AgentSpec& flow,
                                      const agent::StepSpec& step,
                                      const FlowNesting& nesting) {
    if (step.is_command()) {
      return nullptr;
    }
    auto spec = load_(std::filesystem::path(flow.directory) / step.agent);
    if (!spec) {
      return nullptr;
    }
    auto tree = std::make_unique<FlowTree>(FlowTree{.spec = *std::move(spec)});
    if (!tree->is_flow()) {
      add_agents_below(*tree, {}, false);
      return tree;
    }
    if (auto why = why_not_inside(nesting, step, tree->spec)) {
      errors_.push_back(*std::move(why));
      return nullptr;
    }
    tree->members =
        members_of(tree->spec, {.flow = tree->spec, .outer = &nesting, .steps = nesting.steps});
    return tree;
  }

  const LoadSpec& load_;
  const Context& context_;
  std::vector<Error>& errors_;
};

}  // namespace

FlowTree flow_tree(AgentSpec whole,
                   const LoadSpec& load,
                   const Context& context,
                   std::vector<Error>& errors) {
  FlowTree tree{.spec = std::move(whole)};
  TreeReader reader(load, context, errors);
  std::size_t steps = tree.spec.steps.size();
  if (tree.is_flow()) {
    tree.members = reader.members_of(tree.spec, {.flow = tree.spec, .steps = steps});
  } else {
    reader.add_agents_below(tree, {}, false);
  }
  return tree;
}

agent::flow::Graph graph_of(const FlowTree& tree) {
  agent::flow::Graph graph{.steps = tree.spec.steps};
  for (std::size_t step = 0; step < tree.members.size(); ++step) {
    if (tree.members[step] && tree.members[step]->is_flow()) {
      graph.inner.emplace(step, graph_of(*tree.members[step]));
    }
  }
  return graph;
}

}  // namespace cli
