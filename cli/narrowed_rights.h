// What a sub-agent may do is no more than what the agent may that calls it.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"

#include <string>
#include <vector>

namespace cli {

// Takes out of the sandbox of `agent` what that of `above` does not open, and says in a sentence
// each what that is. team.invalid where its folder, which tools of an agent may read, is closed to
// the other one.
agent::Result<std::vector<std::string>> narrow_sandbox(agent::AgentSpec& agent,
                                                       const agent::AgentSpec& above,
                                                       const Context& context);

}  // namespace cli
