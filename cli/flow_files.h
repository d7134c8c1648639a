// The files that a run obeys while all that belong to it are at work, the members of a flow,
// sub-agents and those to whom is handed over: what one of them changed in them, errand or another
// one would do, now or in the next run.
#pragma once
#include "cli/commands/commands.h"
#include "cli/parse.h"
#include "cli/plan.h"
#include "cli/user_places.h"

#include <filesystem>
#include <vector>

namespace cli {

struct ObeyedFile {
  std::filesystem::path path;  // absolute
  bool is_only_named = false;  // by commands that may more than agents, and run by none of them
};
using Obeyed = std::vector<ObeyedFile>;

// Each path of them.
std::vector<std::filesystem::path> paths_of(const Obeyed& files);
// Those that commands must not change that may more than agents: what they only name they may make.
std::vector<std::filesystem::path> paths_for_commands(const Obeyed& files);

// The files of the whole and its agents, and what their tools, hooks, guardrails and models name;
// where a flow opens more to its commands than tools have, what their lines name.
Obeyed obeyed_by_all(const Plan& whole, const Parsed& parsed, const Context& context);

// The same of one agent and all that belong to it, as their files are now. Also of those that it
// names and that cannot be read.
Obeyed obeyed_by_agent(const agent::AgentSpec& whole, const Context& context);

// The same of the agents that `errand run` and `errand test` would take in the working folder, were
// they the next to run there, without those that cannot be read; also of the run's own, which a
// command line may have changed. Once a run: each of their files is read, the smallest first and a
// megabyte in all; what the others name is not in it.
Obeyed obeyed_by_next_agents(const Context& context);

// The paths of both of these: while an agent's tools or servers are used by hand.
std::vector<std::filesystem::path> obeyed_by_hand(const agent::AgentSpec& whole,
                                                  const Context& context);

}  // namespace cli
