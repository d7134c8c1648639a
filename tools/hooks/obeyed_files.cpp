#include "tools/hooks/obeyed_files.h"

#include "agent/text.h"
#include "tools/hooks/hooks.h"
#include "tools/hooks/script_files.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tools {

namespace fs = std::filesystem;

namespace {

// As they are read: what a dialect's scripts are called by is filled in.
std::vector<std::string> commands_of(const agent::AgentSpec& agent, const fs::path& cwd) {
  std::vector<std::string> commands;
  for (const agent::HookSpec& hook : agent.hooks.hooks) {
    commands.push_back(hook_command(agent.hooks, hook, cwd));
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.kind == agent::GuardrailSpec::Kind::command) {
      commands.push_back(check.what);
    }
  }
  return commands;
}

// The scripts that stand in for models.
std::vector<fs::path> replays_of(const agent::AgentSpec& agent) {
  constexpr std::string_view k_replay = "replay/";
  std::vector<const agent::ModelSpec*> models{&agent.model};
  const auto add = [&](const std::optional<agent::ModelSpec>& model) {
    if (model) {
      models.push_back(&*model);
    }
  };
  for (const agent::ModelSpec& model : agent.fallback.models) {
    models.push_back(&model);
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    add(check.model);
  }
  add(agent.context_management.summarizer);
  std::vector<fs::path> files;
  for (const agent::ModelSpec* const model : models) {
    if (model->name.starts_with(k_replay)) {
      files.push_back(fs::path(agent.directory) / model->name.substr(k_replay.size()));
    }
  }
  return files;
}

// With the folder that each starts in.
std::vector<std::pair<std::string, fs::path>> all_commands(const agent::AgentSpec& agent,
                                                           const fs::path& cwd) {
  std::vector<std::pair<std::string, fs::path>> commands;
  for (const agent::ToolSpec& tool : agent.tools) {
    commands.emplace_back(line_of(tool.command), cwd);
  }
  for (const agent::McpServerSpec& server : agent::programs_of(agent.mcp_servers)) {
    commands.emplace_back(line_of(server.command),
                          server.sandbox.is_off ? fs::path(agent.directory) : cwd);
  }
  for (std::string& command : commands_of(agent, cwd)) {
    commands.emplace_back(std::move(command), agent.directory);
  }
  return commands;
}

std::vector<UnclearCommand> unclear_of(std::vector<std::string> commands,
                                       const CommandPlace& place) {
  std::vector<UnclearCommand> unclear;
  for (std::string& command : commands) {
    Scripts scripts = read_scripts(command, place);
    if (!scripts.unclear.empty()) {
      unclear.push_back({.command = std::move(command), .why = std::move(scripts.unclear)});
    }
  }
  return unclear;
}

}  // namespace

std::vector<fs::path> obeyed_files(const agent::AgentSpec& agent,
                                   const fs::path& cwd,
                                   const fs::path& home) {
  std::vector<fs::path> files;
  if (!agent.file.empty()) {
    const fs::path file = fs::path(agent.directory) / fs::path(agent.file).filename();
    files.push_back(file);
    const fs::path beside = file.string().append(agent::k_tool_lock_suffix);
    const fs::path lock = agent::tool_lock_file(agent);
    files.push_back(lock);
    if (beside != lock) {
      files.push_back(beside);  // it would count, were it made
    }
  }
  for (const auto& [command, directory] : all_commands(agent, cwd)) {
    Scripts named = read_scripts(command, {.directory = directory, .home = home});
    std::ranges::move(named.files, std::back_inserter(files));
    std::ranges::move(named.modules, std::back_inserter(files));
  }
  std::ranges::move(replays_of(agent), std::back_inserter(files));
  return files;
}

std::vector<fs::path> run_outside(const agent::AgentSpec& agent,
                                  const fs::path& cwd,
                                  const fs::path& home) {
  std::vector<fs::path> files;
  if (agent.sandbox.mode != agent::SandboxSpec::Mode::off) {
    return files;
  }
  auto commands = all_commands(agent, cwd);
  for (const agent::CheckSpec& check : agent.checks.commands) {
    commands.emplace_back(check.run, cwd);
  }
  for (const auto& [command, directory] : commands) {
    Scripts named = read_scripts(command, {.directory = directory, .home = home});
    std::ranges::move(named.files, std::back_inserter(files));
    std::ranges::move(named.more, std::back_inserter(files));
    std::ranges::move(named.modules, std::back_inserter(files));
  }
  return files;
}

std::vector<UnclearCommand> unclear_commands(const agent::AgentSpec& agent,
                                             const fs::path& cwd,
                                             const fs::path& home) {
  return unclear_of(commands_of(agent, cwd), {.directory = agent.directory, .home = home});
}

std::vector<UnclearCommand> unclear_checks(const agent::AgentSpec& agent,
                                           const fs::path& cwd,
                                           const fs::path& home) {
  std::vector<std::string> commands;
  std::ranges::transform(
      agent.checks.commands, std::back_inserter(commands), &agent::CheckSpec::run);
  return unclear_of(std::move(commands), {.directory = cwd, .home = home});
}

}  // namespace tools
