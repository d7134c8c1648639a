// All that come to work where one run does, wherever they stand: the steps of a flow and of the
// flows in it, sub-agents, and those to whom a conversation is handed over. What one of them can
// write, another one must not obey.
#pragma once
#include "cli/flow_tree.h"
#include "cli/plan.h"
#include "cli/user_places.h"

#include <filesystem>
#include <vector>

namespace cli {

// Each once, the whole itself first; what is only a command is none. Borrowed.
std::vector<const Plan*> plans_at_work(const Plan& whole);
std::vector<Plan*> plans_at_work(Plan& whole);
OtherAgents agents_at_work(const Plan& whole);
OtherAgents agents_at_work(const FlowTree& whole);
// Their files, in folders without links.
std::vector<std::filesystem::path> files_of(const OtherAgents& agents);

// Whether those that have worked in a recorded run, below it or in those that it worked for could
// write in a folder: by the records, before any file is read. Where one of these tells nothing for
// certain, they could. Borrows both.
IsWritten written_by_recorded(const RecordedRun& run, const Context& context);

// What keeps a member from being begun, whatever is there when its turn comes: what it would run
// outside of its sandbox. Before any is begun; the whole finds its own by itself.
agent::Result<void> check_members(const Plan& whole, const Context& context);

}  // namespace cli
