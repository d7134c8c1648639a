// --from and --only: a part of a flow, on what an earlier run of it has brought.
#pragma once
#include "agent/flow/flow_part.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "agent/state.h"
#include "cli/agent_choice.h"
#include "cli/commands/commands.h"
#include "cli/plan.h"

#include <vector>

namespace cli {

// With the earlier run: the newest of this flow in this folder, or the one that --session names;
// its prompt and parameters come into `parsed` where that has none. cli.usage where the agent is no
// flow, or there is no such run.
agent::Result<RunSource> part_of_flow(AgentChoice agent, Parsed& parsed, Context& context);

// By these options; empty: neither is given, and all is run. cli.usage where there is no such step.
agent::Result<std::vector<agent::flow::Part>> parts_asked_for(
    const Parsed& parsed, const std::vector<agent::StepSpec>& steps);

// What a step brought the last time, by the key that a new run asks for. cli.usage where it has not
// ended there, or ended in a way that ends the flow.
agent::Result<agent::MemberFinished> taken_member(const RecordedRun& run,
                                                  const agent::StepSpec& step,
                                                  const agent::MemberKey& key);

}  // namespace cli
