#include "cli/open_sandbox.h"

#include "cli/user_folders.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/obeyed_files.h"

#include <algorithm>

namespace cli {

using Mode = agent::SandboxSpec::Mode;

void apply_sandbox_option(agent::SandboxSpec& sandbox, const Parsed& parsed) {
  if (const auto word = parsed.value("--sandbox")) {
    sandbox.mode = agent::sandbox_mode_from(*word).value_or(sandbox.mode);
  }
}

namespace {

tools::SandboxOptions options_for(const agent::AgentSpec& agent, const Context& context) {
  return {.workspace = context.cwd,
          .agent_folder = agent.directory,
          .agent_file = agent.file.empty()
                            ? std::filesystem::path()
                            : agent.directory / std::filesystem::path(agent.file).filename(),
          .temporary = {},
          .secrets = {config_folder(context.environment),
                      data_folder(context.environment),
                      state_folder(context.environment)},
          .obeyed = tools::obeyed_files(agent, context.cwd),
          .runs_programs = false,
          .writes = std::ranges::any_of(agent.tools, tools::writes),
          .environment = context.environment,
          .supervisor = nullptr};
}

}  // namespace

agent::Result<std::unique_ptr<tools::Sandbox>> open_sandbox(const agent::AgentSpec& agent,
                                                            const Context& context,
                                                            const RunFolder& folder,
                                                            tools::Supervisor& supervisor) {
  if (agent.sandbox.mode == Mode::off) {
    return nullptr;
  }
  tools::SandboxOptions options = options_for(agent, context);
  options.temporary = folder.path();
  options.runs_programs = std::ranges::any_of(agent.tools, tools::runs_programs);
  options.supervisor = &supervisor;
  return tools::Sandbox::create(agent.sandbox, options);
}

agent::Result<std::unique_ptr<tools::Sandbox>> open_sandbox_of(const agent::CommandSandbox& command,
                                                               const agent::AgentSpec& agent,
                                                               const Context& context,
                                                               const RunFolder& folder,
                                                               tools::Supervisor& supervisor) {
  if (agent.sandbox.mode == Mode::off) {
    return nullptr;
  }
  agent::SandboxSpec sandbox = agent.sandbox;
  sandbox.network = command.network.value_or(sandbox.network);
  sandbox.read.insert(sandbox.read.end(), command.read.begin(), command.read.end());
  sandbox.write.insert(sandbox.write.end(), command.write.begin(), command.write.end());
  tools::SandboxOptions options = options_for(agent, context);
  options.temporary = folder.path();
  options.runs_programs = true;
  options.supervisor = &supervisor;
  return tools::Sandbox::create(sandbox, options);
}

agent::Result<std::unique_ptr<tools::Sandbox>> open_file_rules(const agent::AgentSpec& agent,
                                                               const Context& context) {
  if (agent.sandbox.mode == Mode::off) {
    return nullptr;
  }
  return tools::Sandbox::create(agent.sandbox, options_for(agent, context));
}

agent::Result<std::unique_ptr<tools::Sandbox>> open_git_sandbox(const agent::AgentSpec& agent,
                                                                const Context& context,
                                                                const RunFolder& folder,
                                                                tools::Supervisor& supervisor) {
  agent::SandboxSpec sandbox = agent.sandbox;
  sandbox.network = false;
  sandbox.allow_hosts.clear();
  tools::SandboxOptions options = options_for(agent, context);
  options.temporary = folder.path();
  options.runs_programs = true;
  options.supervisor = &supervisor;
  options.is_for_git = true;
  return tools::Sandbox::create(sandbox, options);
}

agent::SandboxInForce describe(const agent::SandboxSpec& sandbox, const tools::Sandbox* opened) {
  using Names = std::vector<std::string>;
  const bool has_network = sandbox.network || sandbox.mode == Mode::off;
  return {.mode = std::string(agent::to_string(sandbox.mode)),
          .network = has_network ? "allow" : "deny",
          .hosts = sandbox.allow_hosts,
          .layers = opened != nullptr ? opened->layers() : Names(),
          .missing = opened != nullptr ? opened->missing() : Names()};
}

}  // namespace cli
