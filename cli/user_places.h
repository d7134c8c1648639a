// Where the commands of hooks and guardrails run: each in a sandbox of its own making, or outside
// where the agent file says so.
#pragma once
#include "agent/event.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/tool_environment.h"
#include "tools/hooks/missing_programs.h"
#include "tools/hooks/user_command.h"
#include "tools/permissions/permissions.h"
#include "tools/process/local_program_runner.h"
#include "tools/process/sandbox.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cli {

// All that come to work in one run, flows included (agents_at_work.h). Borrowed.
using OtherAgents = std::vector<const agent::AgentSpec*>;

// Whether it is in a sandbox in which its tools can write.
bool is_confined_writer(const agent::AgentSpec* agent);

// Of folders that are to hold a run's own: what tools, commands and servers of the agent and of the
// others can write. Borrows all.
IsWritten written_by(const agent::AgentSpec& agent,
                     const OtherAgents& others,
                     const Context& context);

class UserPlaces {
 public:
  // All borrowed but for the environment, which is errand's without keys. What is denied to tools
  // is closed to a command in a sandbox, too, but for what its own settings open. sandbox.setup;
  // config.invalid as for check_unconfined.
  static agent::Result<std::unique_ptr<UserPlaces>> open(const agent::AgentSpec& agent,
                                                         agent::Environment environment,
                                                         const Context& context,
                                                         ToolEnvironment& tools,
                                                         const tools::DeniedPlaces& denied,
                                                         const OtherAgents& others = {});

  // Of a command of this agent.
  tools::UserPrograms of(const agent::CommandSandbox& sandbox) const;
  // The first one that commands run in; null: there is none.
  const tools::Sandbox* sandbox() const;
  // check_unconfined()'s, once.
  std::vector<agent::Warning> take_warnings() { return std::exchange(warnings_, {}); }
  // After the last of them, as Toolbox::tidy_up().
  std::vector<agent::Leftover> tidy_up();

 private:
  struct Place {
    std::unique_ptr<tools::Sandbox> sandbox;  // null: none
    std::unique_ptr<tools::ProgramRunner> runner;
  };
  UserPlaces(agent::Environment environment,
             std::filesystem::path directory,
             std::filesystem::path temporary)
      : environment_(std::move(environment)),
        directory_(std::move(directory)),
        temporary_(std::move(temporary)) {}

  // Tools, or a command in a sandbox.
  bool others_write(const std::filesystem::path& path) const;
  bool others_write_below(const std::filesystem::path& folder) const;

  std::vector<agent::Warning> warnings_;
  agent::Environment environment_;
  std::filesystem::path directory_;        // the agent file's
  std::filesystem::path temporary_;        // the run's own folder
  std::filesystem::path start_;            // an empty one in it; empty: no command starts there
  bool is_directory_writable_ = false;     // by tools, or what lies below it
  const tools::Sandbox* tools_ = nullptr;  // null: they have none
  agent::SandboxSpec tools_spec_;
  std::unique_ptr<tools::Sandbox> others_;  // the rules for what other agents write; null: none do
  std::map<agent::CommandSandbox, Place> places_;
};

// Commands that run outside of the sandbox and name what tools can write, also those of other
// agents: who writes there would say what runs. config.invalid; sandbox.setup, also of what any
// command's own `sandbox` opens. What such a command is not given for that reason, of its `env` and
// of the agent file's folder, is warned of.
struct Unconfined {
  std::vector<agent::Error> mistakes;
  std::vector<agent::Warning> warnings;
};
Unconfined look_at_unconfined(const agent::AgentSpec& agent,
                              const Context& context,
                              const OtherAgents& others = {});
// The first of the mistakes, or the warnings.
agent::Result<std::vector<agent::Warning>> check_unconfined(const agent::AgentSpec& agent,
                                                            const Context& context,
                                                            const OtherAgents& others = {});

// Programs of command tools, hooks and guardrails that are not there, or not in the sandbox.
std::vector<tools::MissingProgram> missing_programs(const agent::AgentSpec& agent,
                                                    const Context& context);

// In sentences: commands whose scripts tools may change, because nobody can tell what they are; and
// checks.
std::vector<std::string> unclear_commands(const agent::AgentSpec& agent, const Context& context);

// Hooks and servers that may more than the tools, and whose program or script lies in a folder
// where these can write: the file itself they cannot change, what it loads from beside itself they
// can. And those outside of the sandbox whose file has another name somewhere, by a hard link.
std::vector<agent::Warning> exposed_commands(const agent::AgentSpec& agent, const Context& context);

}  // namespace cli
