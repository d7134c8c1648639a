// The files that errand itself obeys in a run: what a tool changed in them would be done by errand.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tools {

// Whether such a command may more than the tools: what the model has written would have these
// rights as well.
bool may_more(const agent::CommandSandbox& sandbox, const agent::SandboxSpec& tools);

// The agent file, its lock of MCP tools, the files that the commands of its tools, hooks and
// guardrails name, and the scripts that stand in for its models, as they are written: links on the
// way are the caller's. `cwd` is the workspace, the environment is errand's.
std::vector<std::filesystem::path> obeyed_files(const agent::AgentSpec& agent,
                                                const std::filesystem::path& cwd,
                                                const agent::Environment& environment);

// Of an agent that is in no sandbox, all that its commands and checks name, there already or not:
// what another agent of the same work has made there would run outside of its sandbox.
std::vector<std::filesystem::path> run_outside(const agent::AgentSpec& agent,
                                               const std::filesystem::path& cwd,
                                               const agent::Environment& environment);

// What the lines of its checks run, there already or not.
std::vector<std::filesystem::path> run_by_checks(const agent::AgentSpec& agent,
                                                 const std::filesystem::path& cwd,
                                                 const agent::Environment& environment);

// A command of a hook or a guardrail that may run scripts which are not among these.
struct UnclearCommand {
  std::string command;
  std::string why;  // Scripts::unclear
};
std::vector<UnclearCommand> unclear_commands(const agent::AgentSpec& agent,
                                             const std::filesystem::path& cwd,
                                             const agent::Environment& environment);
// The same of its checks, whose files are compared with what they were.
std::vector<UnclearCommand> unclear_checks(const agent::AgentSpec& agent,
                                           const std::filesystem::path& cwd,
                                           const agent::Environment& environment);

}  // namespace tools
