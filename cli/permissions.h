// The permissions of a run, out of all that speak of them: the options, the agent file, the
// project's and the user's settings.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/settings.h"
#include "tools/permissions/permissions.h"
#include "tools/process/sandbox.h"

#include <filesystem>

namespace cli {

// cli.usage where a rule of the options is none. `sandbox`: what programs run in (borrowed, for as
// long as the permissions); null: none was made, and one that keeps what it can is taken for
// granted.
agent::Result<tools::Permissions> permissions_of(const agent::AgentSpec& agent,
                                                 const Settings& settings,
                                                 const Parsed& parsed,
                                                 const Context& context,
                                                 const std::filesystem::path& temporary,
                                                 const tools::Sandbox* sandbox);

// config.invalid where a model must call a tool that is denied whatever it is called with.
agent::Result<void> check_tool_choice(const agent::AgentSpec& agent,
                                      const tools::Permissions& permissions);

}  // namespace cli
