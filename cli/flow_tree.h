// A flow with all the agents and flows that its steps are; an agent with those that it calls or
// hands over to.
#pragma once
#include "agent/error.h"
#include "agent/flow/graph.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace cli {

struct FlowTree {
  agent::AgentSpec spec;
  // Of a flow, one a step; null: it is a command, or cannot be read, or cannot stand there. Of an
  // agent, those that can be read of its sub-agents and, of the first of them, of its team: with
  // what is open to them there.
  std::vector<std::unique_ptr<FlowTree>> members = {};

  bool is_flow() const { return !spec.steps.empty(); }
};

using LoadSpec = std::function<std::optional<agent::AgentSpec>(const std::filesystem::path& file)>;

// Of a flow or an agent. `errors` gets what no file shows alone: flows that stand in themselves, or
// too deep.
FlowTree flow_tree(agent::AgentSpec whole,
                   const LoadSpec& load,
                   const Context& context,
                   std::vector<agent::Error>& errors);

// As it is drawn; borrows the tree.
agent::flow::Graph graph_of(const FlowTree& tree);

}  // namespace cli
