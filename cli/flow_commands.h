// The commands of a flow that may do what its agents may not: what agents can write must not be
// what these run.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/user_places.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cli {

struct NamedFiles {
  std::vector<std::filesystem::path> run;    // by the line, a shell or an interpreter
  std::vector<std::filesystem::path> other;  // beside these
};
NamedFiles files_named(const std::string& command, const Context& context);

// Whether the flow's commands have what an agent that can write has not. `all` are those of the
// outermost flow.
bool opens_more(const agent::AgentSpec& flow, const OtherAgents& all);

// Of all flows among them, where one of the agents can write: commands outside of the sandbox, and
// those that have more than the agents and of which it cannot be told what they run. team.invalid.
std::vector<agent::Error> mistakes_in_commands(const OtherAgents& all, const Context& context);

}  // namespace cli
