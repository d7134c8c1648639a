// A tool that a person calls, without a model and without permissions.
#pragma once
#include "agent/message.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "agent/toolbox.h"
#include "cli/commands/commands.h"
#include "cli/flow_tree.h"
#include "cli/run_folder.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cli {

// Every mistake but the last goes to stderr at once; the last one is the error.
agent::Result<agent::AgentSpec> load_by_hand(const std::string& file, Context& context);

// An agent, and all that work where it does, by which it is judged what it may obey and be told.
struct TeamByHand {
  std::unique_ptr<FlowTree> tree;
  // Of one that is written out in the file of another one (`agent.yaml#helper`), with what is open
  // to it there.
  agent::AgentSpec agent = {};
};
// As load_by_hand(); cli.usage: it is not in that file.
agent::Result<TeamByHand> load_team_by_hand(const std::string& file, Context& context);

// What it has beside its own tools: its sub-agents, and those to whom it can hand over, sorted by
// name. Their files are read.
agent::Result<std::vector<agent::ToolInfo>> agents_as_tools(const agent::AgentSpec& agent,
                                                            Context& context);

// errand.tools/1.
agent::Json json_of_tools(std::span<const agent::ToolInfo> tools);

// A JSON object, as text; `-`: what is on stdin. cli.usage.
agent::Result<std::string> arguments_by_hand(std::string text);

// Prints what a model would read; as JSON, with what became of the call (errand.call/1). The exit
// code, or the tool's error; `folder` stays for now where the result names a file in it.
agent::Result<int> call_by_hand(agent::Toolbox& toolbox,
                                const agent::ToolCall& call,
                                RunFolder& folder,
                                bool as_json,
                                Context& context);

}  // namespace cli
