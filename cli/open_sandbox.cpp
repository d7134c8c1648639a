#include "cli/open_sandbox.h"

#include "cli/permissions.h"
#include "cli/user_folders.h"
#include "config/test_case.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/obeyed_files.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cli {

using Mode = agent::SandboxSpec::Mode;

namespace {

std::vector<std::filesystem::path> own_folders(const agent::Environment& environment) {
  return {config_folder(environment), data_folder(environment), state_folder(environment)};
}

// What git obeys of the user's own, wherever links or variables put it.
std::vector<std::filesystem::path> git_settings(const agent::Environment& environment,
                                                const std::filesystem::path& cwd) {
  const std::string home(agent::value_of(environment, "HOME"));
  const std::string base(agent::value_of(environment, "XDG_CONFIG_HOME"));
  std::vector<std::filesystem::path> files;
  const auto add = [&](std::string_view folder, const char* name) {
    if (!folder.empty()) {
      files.push_back(cwd / folder / name);  // a relative one is taken from there by git, too
    }
  };
  add(home, ".gitconfig");
  add(base.empty() && !home.empty() ? home + "/.config" : base, "git/config");
  for (const char* name : {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}) {
    add(agent::value_of(environment, name), "");
  }
  return files;
}

// What this run obeys, and what a later `errand test` would.
std::vector<std::filesystem::path> obeyed_files(const agent::AgentSpec& agent,
                                                const Context& context) {
  std::vector<std::filesystem::path> files =
      tools::obeyed_files(agent, context.cwd, context.environment);
  std::ranges::move(config::files_named_by_test_cases(context.cwd), std::back_inserter(files));
  // The settings may be a link from their folder to a file of the work.
  std::error_code error;
  const auto settings = config_folder(context.environment) / "config.yaml";
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(settings, error))) {
    files.push_back(settings);
  }
  std::ranges::move(git_settings(context.environment, context.cwd), std::back_inserter(files));
  return files;
}

tools::SandboxOptions options_for(const agent::AgentSpec& agent, const Context& context) {
  return {.workspace = context.cwd,
          .agent_folder = agent.directory,
          .agent_file = agent.file.empty() ? std::filesystem::path()
                                           : agent::file_of_whole(agent::file_of(agent)),
          .temporary = {},
          .secrets = own_folders(context.environment),
          .shared = pictures_folder(context.environment),
          .obeyed = {},
          .outputs = {},
          .other_runs = run_folders(context.environment),
          .runs_programs = false,
          .writes = std::ranges::any_of(agent.tools, tools::writes) ||
                    !agent.checks.commands.empty() ||  // they build what they look at
                    std::ranges::any_of(agent.steps, &agent::StepSpec::is_command) ||
                    std::ranges::any_of(agent.mcp_servers,
                                        [](const agent::McpServerSpec& server) {
                                          return !server.sandbox.is_off;  // its tools may
                                        }),
          .stop = context.cancellation.stop(),
          .environment = context.environment,
          .supervisor = nullptr};
}

tools::SandboxOptions options_for(const agent::AgentSpec& agent,
                                  const Context& context,
                                  const Workplace& place) {
  tools::SandboxOptions options = options_for(agent, context);
  options.obeyed = obeyed_files(agent, context);
  std::ranges::copy(place.obeyed, std::back_inserter(options.obeyed));
  options.temporary = place.folder.path();
  options.outputs = place.outputs;
  options.supervisor = &place.supervisor;
  return options;
}

// What a command's own settings make of those of the tools.
agent::SandboxSpec with(agent::SandboxSpec sandbox, const agent::CommandSandbox& command) {
  sandbox.network = command.network.value_or(sandbox.network);
  sandbox.read.insert(sandbox.read.end(), command.read.begin(), command.read.end());
  sandbox.write.insert(sandbox.write.end(), command.write.begin(), command.write.end());
  return sandbox;
}

}  // namespace

void apply_sandbox_option(agent::SandboxSpec& sandbox, const Parsed& parsed) {
  if (const auto word = parsed.value("--sandbox")) {
    sandbox.mode = agent::sandbox_mode_from(*word).value_or(sandbox.mode);
    if (sandbox.mode == Mode::read_only) {
      sandbox.write.clear();  // nobody who says this on the command line means the agent file's
    }
  }
}

agent::Result<std::unique_ptr<tools::Sandbox>> open_sandbox(const agent::AgentSpec& agent,
                                                            const Context& context,
                                                            const Workplace& place) {
  if (agent.sandbox.mode == Mode::off) {
    return nullptr;
  }
  tools::SandboxOptions options = options_for(agent, context, place);
  options.runs_programs = tools::runs_programs(agent);
  return tools::Sandbox::create(agent.sandbox, options);
}

agent::Result<std::unique_ptr<tools::Sandbox>> open_sandbox_of(const agent::CommandSandbox& command,
                                                               const agent::AgentSpec& agent,
                                                               const Context& context,
                                                               const Workplace& place) {
  if (agent.sandbox.mode == Mode::off) {
    return nullptr;
  }
  tools::SandboxOptions options = options_for(agent, context, place);
  options.runs_programs = true;
  return tools::Sandbox::create(with(agent.sandbox, command), options);
}

agent::Result<std::unique_ptr<tools::Sandbox>> open_file_rules(const agent::AgentSpec& agent,
                                                               const Context& context) {
  if (agent.sandbox.mode == Mode::off) {
    return nullptr;
  }
  tools::SandboxOptions options = options_for(agent, context);
  options.obeyed = obeyed_files(agent, context);
  return tools::Sandbox::create(agent.sandbox, options);
}

agent::Result<std::unique_ptr<tools::Sandbox>> open_git_sandbox(const agent::AgentSpec& agent,
                                                                const Context& context,
                                                                const Workplace& place) {
  agent::SandboxSpec sandbox = agent.sandbox;
  sandbox.network = false;
  sandbox.allow_hosts.clear();
  tools::SandboxOptions options = options_for(agent, context, place);
  options.runs_programs = true;
  options.is_for_git = true;
  return tools::Sandbox::create(sandbox, options);
}

std::vector<agent::Error> mistakes_in_places(const agent::AgentSpec& agent,
                                             const Context& context,
                                             const agent::CommandSandbox& command) {
  return agent.sandbox.mode == Mode::off
             ? std::vector<agent::Error>()
             : tools::mistakes_in_places(with(agent.sandbox, command), options_for(agent, context));
}

std::optional<tools::sandbox::Policy> places_of_tools(const agent::AgentSpec& agent,
                                                      const Context& context) {
  if (agent.sandbox.mode == Mode::off) {
    return std::nullopt;
  }
  tools::SandboxOptions options = options_for(agent, context);
  options.writes = false;
  auto policy = tools::policy_of(agent.sandbox, options);
  return policy ? std::optional(*std::move(policy)) : std::nullopt;
}

config::ReadingPolicy reading_policy(agent::AgentSpec agent,
                                     const Settings& settings,
                                     const Parsed& parsed,
                                     const Context& context) {
  using config::Reading;
  // A rule that is none has been, or will be, said.
  auto rules = permissions_of(agent, settings, parsed, context, {}, nullptr);
  const auto permissions =
      rules ? std::make_shared<const tools::Permissions>(std::move(*rules)) : nullptr;
  apply_sandbox_option(agent.sandbox, parsed);
  const bool is_off = agent.sandbox.mode == Mode::off;
  tools::SandboxOptions options = options_for(agent, context);
  options.writes = false;
  // Made for the first file, which several threads may have: most agents name none.
  struct Made {
    std::once_flag once;
    std::optional<agent::Result<tools::sandbox::Policy>> policy;
  };
  auto made = std::make_shared<Made>();
  return [is_off, sandbox = agent.sandbox, options = std::move(options), made, permissions](
             const std::filesystem::path& name,
             const std::filesystem::path& real) -> agent::Result<Reading> {
    for (const std::filesystem::path& one : {name, real}) {
      if (auto why = permissions ? permissions->reading_denied(one) : std::nullopt) {
        return agent::fail(agent::Code::tool_policy_blocked, *std::move(why));
      }
    }
    std::call_once(made->once, [&] { made->policy.emplace(tools::policy_of(sandbox, options)); });
    const auto& policy = *made->policy;
    if (!policy) {
      return std::unexpected(policy.error());
    }
    if (policy->is_opened_by_name(real)) {
      return Reading::named;
    }
    const bool is_open =
        is_off || policy->reading_by_file_tools(real) == tools::sandbox::Verdict::allowed;
    return is_open ? Reading::open : Reading::closed;
  };
}

agent::Result<tools::sandbox::Policy> reading_rules(const std::filesystem::path& agent_folder,
                                                    const Context& context) {
  agent::AgentSpec agent;
  agent.directory = agent_folder.string();
  tools::SandboxOptions options = options_for(agent, context);
  options.writes = false;
  return tools::policy_of(agent.sandbox, options);
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
