// What a flow has commands for that are never at work beside its agents holds between processes,
// too: of a flow, at most one process has such commands, and then no other has any of its runs.
#pragma once
#include "agent/result.h"
#include "agent/store/owner.h"
#include "cli/agents_above.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cli {

// For the process of a run that is carried on by itself, of all flows above it. cli.usage: one of
// these is at work, and has such commands. storage.io
agent::Result<std::vector<agent::store::RunClaim>> claim_beside_commands(const AgentsAbove& above);

// For the process of a flow that has such commands; `above` are its claims from before. cli.usage:
// another run of this flow, or of one above it, is carried on by itself. storage.io
agent::Result<agent::store::RunClaim> claim_commands(const std::filesystem::path& journal,
                                                     const std::string& flow_id,
                                                     std::vector<agent::store::RunClaim>& above);

// Whether such a process is at work: none of the flow's runs can be carried on by itself.
bool are_commands_claimed(const std::filesystem::path& journal, const std::string& flow_id);

}  // namespace cli
