// What a flow has commands for that are never at work beside its agents holds between processes,
// too: while it is at work, none of its runs is carried on by itself, and while one is, the flow
// does not begin.
#pragma once
#include "agent/result.h"
#include "agent/store/owner.h"
#include "cli/agents_above.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cli {

// For the process of a flow that has such commands, as long as it is at work. cli.usage: a run of
// it is carried on by itself. storage.io
agent::Result<agent::store::RunClaim> claim_commands(const std::filesystem::path& journal,
                                                     const std::string& flow_id);

// For the process of a run that is carried on by itself, of all flows above it. cli.usage: one of
// these is at work, and has such commands. storage.io
agent::Result<std::vector<agent::store::RunClaim>> claim_beside_commands(const AgentsAbove& above);

// Whether a process has such a flow.
bool are_commands_claimed(const std::filesystem::path& journal, const std::string& flow_id);

}  // namespace cli
