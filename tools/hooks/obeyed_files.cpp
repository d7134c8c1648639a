#include "tools/hooks/obeyed_files.h"

#include "agent/text.h"
#include "tools/hooks/hooks.h"
#include "tools/hooks/script_files.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tools {

namespace fs = std::filesystem;

namespace {

// A command line, and where it is run.
struct Command {
  std::string line;
  CommandPlace place;
  bool may_more = false;  // than tools, or knows more: what stands nowhere yet counts, too
};

class CommandList {
 public:
  explicit CommandList(const agent::Environment& environment) : environment_(environment) {}

  void add(std::string line,
           fs::path directory,
           const agent::Environment& own,
           bool may_more = false) {
    commands_.push_back({.line = std::move(line),
                         .place = {.directory = std::move(directory),
                                   .home = agent::value_of(environment_, "HOME"),
                                   .environment = with_own(environment_, own)},
                         .may_more = may_more || !own.empty()});
  }

  // As they are read: what a dialect's scripts are called by is filled in.
  void add_hooks(const agent::AgentSpec& agent, const fs::path& cwd) {
    for (const agent::HookSpec& hook : agent.hooks.hooks) {
      add(hook_command(agent.hooks, hook, cwd),
          agent.directory,
          hook.env,
          may_more(hook.sandbox, agent.sandbox));
    }
    for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
      if (check.kind == agent::GuardrailSpec::Kind::command) {
        add(check.what, agent.directory, check.env, may_more(check.sandbox, agent.sandbox));
      }
    }
  }

  void add_programs(const agent::AgentSpec& agent, const fs::path& cwd) {
    for (const agent::ToolSpec& tool : agent.tools) {
      add(line_of(tool.command), cwd, tool.env);
    }
    for (const agent::McpServerSpec& server : agent::programs_of(agent.mcp_servers)) {
      add(line_of(server.command),
          server.sandbox.is_off ? fs::path(agent.directory) : cwd,
          server.env,
          may_more(server.sandbox, agent.sandbox));
    }
  }

  void add_checks(const agent::AgentSpec& agent, const fs::path& cwd) {
    for (const agent::CheckSpec& check : agent.checks.commands) {
      add(check.run, cwd, {});
    }
  }

  std::vector<Command> take() { return std::move(commands_); }

 private:
  const agent::Environment& environment_;
  std::vector<Command> commands_;
};

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

std::vector<UnclearCommand> unclear_of(std::vector<Command> commands) {
  std::vector<UnclearCommand> unclear;
  for (Command& command : commands) {
    Scripts scripts = read_scripts(command.line, command.place);
    if (!scripts.unclear.empty()) {
      unclear.push_back({.command = std::move(command.line), .why = std::move(scripts.unclear)});
    }
  }
  return unclear;
}

}  // namespace

bool may_more(const agent::CommandSandbox& sandbox, const agent::SandboxSpec& tools) {
  return sandbox.is_off || (sandbox.network == true && !tools.network) || !sandbox.read.empty() ||
         !sandbox.write.empty();
}

std::vector<fs::path> obeyed_files(const agent::AgentSpec& agent,
                                   const fs::path& cwd,
                                   const agent::Environment& environment) {
  std::vector<fs::path> files;
  if (!agent.file.empty()) {
    const fs::path file = agent::file_of(agent);
    files.push_back(file);
    const fs::path beside = file.string().append(agent::k_tool_lock_suffix);
    const fs::path whole = agent::file_of_whole(file);
    if (whole != file) {
      files.push_back(whole);
      files.emplace_back(agent::tool_lock_file(whole));
    }
    const fs::path lock = agent::tool_lock_file(agent);
    files.push_back(lock);
    if (beside != lock) {
      files.push_back(beside);  // it would count, were it made
    }
  }
  CommandList commands(environment);
  commands.add_programs(agent, cwd);
  commands.add_hooks(agent, cwd);
  for (const Command& command : commands.take()) {
    Scripts named = read_scripts(command.line, command.place);
    std::ranges::move(named.files, std::back_inserter(files));
    std::ranges::move(named.modules, std::back_inserter(files));
    if (command.may_more) {
      std::ranges::move(named.to_run, std::back_inserter(files));
      std::ranges::copy_if(named.ways, std::back_inserter(files), [](const fs::path& folder) {
        std::error_code error;  // one that is there is kept with what it holds
        return !fs::exists(folder, error);
      });
    }
  }
  std::ranges::move(replays_of(agent), std::back_inserter(files));
  return files;
}

std::vector<fs::path> run_by_checks(const agent::AgentSpec& agent,
                                    const fs::path& cwd,
                                    const agent::Environment& environment) {
  std::vector<fs::path> files;
  CommandList commands(environment);
  commands.add_checks(agent, cwd);
  for (const Command& command : commands.take()) {
    Scripts named = read_scripts(command.line, command.place);
    for (auto* const some : {&named.run, &named.to_run, &named.modules}) {
      std::ranges::move(*some, std::back_inserter(files));
    }
  }
  return files;
}

std::vector<fs::path> run_outside(const agent::AgentSpec& agent,
                                  const fs::path& cwd,
                                  const agent::Environment& environment) {
  std::vector<fs::path> files;
  if (agent.sandbox.mode != agent::SandboxSpec::Mode::off) {
    return files;
  }
  CommandList commands(environment);
  commands.add_programs(agent, cwd);
  commands.add_hooks(agent, cwd);
  commands.add_checks(agent, cwd);
  for (const Command& command : commands.take()) {
    Scripts named = read_scripts(command.line, command.place);
    std::ranges::move(named.files, std::back_inserter(files));
    std::ranges::move(named.more, std::back_inserter(files));
    std::ranges::move(named.modules, std::back_inserter(files));
  }
  return files;
}

std::vector<UnclearCommand> unclear_commands(const agent::AgentSpec& agent,
                                             const fs::path& cwd,
                                             const agent::Environment& environment) {
  CommandList commands(environment);
  commands.add_hooks(agent, cwd);
  return unclear_of(commands.take());
}

std::vector<UnclearCommand> unclear_checks(const agent::AgentSpec& agent,
                                           const fs::path& cwd,
                                           const agent::Environment& environment) {
  CommandList commands(environment);
  commands.add_checks(agent, cwd);
  return unclear_of(commands.take());
}

}  // namespace tools
