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
#include <span>
#include <string>
#include <vector>

namespace cli {

// cli.usage where a rule of the options is none; of an agent with sub-agents see
// check_rules_of_all(). `sandbox`: what programs run in (borrowed, for as
// long as the permissions); null: none was made, and one that keeps what it can is taken for
// granted.
agent::Result<tools::Permissions> permissions_of(const agent::AgentSpec& agent,
                                                 const Settings& settings,
                                                 const Parsed& parsed,
                                                 const Context& context,
                                                 const std::filesystem::path& temporary,
                                                 const tools::Sandbox* sandbox);

// The same in a run, which obeys `obeyed` beside. Of a sub-agent: nothing is allowed that the
// agents in `above`, for which it works, could not do themselves.
agent::Result<tools::Permissions> permissions_below(std::span<const agent::AgentSpec* const> above,
                                                    const agent::AgentSpec& agent,
                                                    const Settings& settings,
                                                    const Parsed& parsed,
                                                    const Context& context,
                                                    const std::filesystem::path& temporary,
                                                    const tools::Sandbox* sandbox,
                                                    std::span<const std::filesystem::path> obeyed);

// Of an agent with sub-agents, whose rules and options may name the tools of all agents `below`.
// team.invalid, cli.usage.
agent::Result<void> check_rules_of_all(const agent::AgentSpec& agent,
                                       std::span<const agent::AgentSpec* const> below,
                                       const Parsed& parsed);

// As tools::idle_patterns() has them, of all these.
std::vector<std::string> names_in_rules(std::span<const agent::AgentSpec* const> agents);
// Its own, in all lists.
std::vector<agent::PermissionRule> rules_of(const agent::PermissionSpec& permissions);

// cli.usage where a rule of the options is none, as permissions_of().
agent::Result<void> check_rules(const agent::AgentSpec& agent, const Parsed& parsed);

// config.invalid where a model must call a tool that is denied whatever it is called with.
agent::Result<void> check_tool_choice(const agent::AgentSpec& agent,
                                      const tools::Permissions& permissions);

}  // namespace cli
