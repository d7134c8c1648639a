// The sandbox of a command's tools, from the agent file and the command line.
#pragma once
#include "agent/event.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/run_folder.h"
#include "cli/settings.h"
#include "config/named_files.h"
#include "tools/process/sandbox.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace cli {

// Where a run's programs work. Borrowed, but for the names.
struct Workplace {
  const RunFolder& folder;
  tools::Supervisor& supervisor;
  tools::sandbox::Outputs outputs = {};
  std::vector<std::filesystem::path> obeyed = {};  // beside what the agent names
};

// --sandbox in place of sandbox.mode.
void apply_sandbox_option(agent::SandboxSpec& sandbox, const Parsed& parsed);

// Empty where the sandbox is off. sandbox.setup.
agent::Result<std::unique_ptr<tools::Sandbox>> open_sandbox(const agent::AgentSpec& agent,
                                                            const Context& context,
                                                            const Workplace& place);

// The same for a command of a hook or a guardrail that is not to run outside of it.
agent::Result<std::unique_ptr<tools::Sandbox>> open_sandbox_of(const agent::CommandSandbox& command,
                                                               const agent::AgentSpec& agent,
                                                               const Context& context,
                                                               const Workplace& place);

// The same of what errand's own file tools may reach: nothing is started, made or tried out.
agent::Result<std::unique_ptr<tools::Sandbox>> open_file_rules(const agent::AgentSpec& agent,
                                                               const Context& context);

// Of errand's own git, for an agent whose sandbox is not off. sandbox.setup.
agent::Result<std::unique_ptr<tools::Sandbox>> open_git_sandbox(const agent::AgentSpec& agent,
                                                                const Context& context,
                                                                const Workplace& place);

// For what of `sandbox.read` and `sandbox.write` nothing would run: sandbox.setup. Of the tools,
// and of what a command names beside them.
std::vector<agent::Error> mistakes_in_places(const agent::AgentSpec& agent,
                                             const Context& context,
                                             const agent::CommandSandbox& command = {});

// What tools may read and write, with nothing that enforces it, and wherever errand works. Nullopt:
// all, or there is a mistake in it.
std::optional<tools::sandbox::Policy> places_of_tools(const agent::AgentSpec& agent,
                                                      const Context& context);

// What the agent lets a model read of the files that it names, by its sandbox (and --sandbox in
// place of its mode), and by what permissions deny. Where the sandbox is off every file is open.
config::ReadingPolicy reading_policy(agent::AgentSpec agent,
                                     const Settings& settings,
                                     const Parsed& parsed,
                                     const Context& context);

// What tools may read that run here, for an agent of that folder which opens and closes nothing by
// itself. sandbox.setup.
agent::Result<tools::sandbox::Policy> reading_rules(const std::filesystem::path& agent_folder,
                                                    const Context& context);

// For run.started; `opened` may be null.
agent::SandboxInForce describe(const agent::SandboxSpec& sandbox, const tools::Sandbox* opened);

}  // namespace cli
