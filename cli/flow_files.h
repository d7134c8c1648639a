// The files that a run obeys while all that belong to it are at work, the members of a flow,
// sub-agents and those to whom is handed over: what one of them changed in them, errand or another
// one would do, now or in the next run.
#pragma once
#include "cli/commands/commands.h"
#include "cli/parse.h"
#include "cli/plan.h"
#include "cli/user_places.h"
#include "tools/hooks/file_watch.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace cli {

struct ObeyedFile {
  std::filesystem::path path;  // absolute
  // Whose command names it, and runs it not; empty: it is obeyed for more than that.
  std::filesystem::path flow = {};
};
using Obeyed = std::vector<ObeyedFile>;

// Each path of them.
std::vector<std::filesystem::path> paths_of(const Obeyed& files);
// Those that a flow's own commands must not change: what they only name themselves, and none of
// them runs, they may make.
std::vector<std::filesystem::path> paths_for_commands_of(const agent::AgentSpec& flow,
                                                         const Obeyed& files);

// The files of the whole and its agents, and what their tools, hooks, guardrails and models name;
// where a flow opens more to its commands than tools have, what their lines name.
Obeyed obeyed_by_all(const Plan& whole, const Parsed& parsed, const Context& context);

// The same of one agent and all that belong to it, as their files are now. Also of those that it
// names and that cannot be read.
Obeyed obeyed_by_agent(const agent::AgentSpec& whole, const Context& context);

// The same of the agents that `errand run` and `errand test` would take in the working folder, were
// they the next to run there, without those that cannot be read; also of the run's own, which a
// command line may have changed. Once a run: each of their files is read, the smallest first and a
// megabyte in all; what the others name is not in it.
Obeyed obeyed_by_next_agents(const Context& context);

// The paths of both of these: while an agent's tools or servers are used by hand.
std::vector<std::filesystem::path> obeyed_by_hand(const agent::AgentSpec& whole,
                                                  const Context& context);

// What the commands name that have more than the agents: it is what it was when the outermost flow
// began, but for what those of the same flow have made that name it and do not run it, while no
// agent was at work beside them. From any thread.
class WatchedCommands {
 public:
  WatchedCommands(const OtherAgents& all, const Context& context);

  // What is no longer what it was; nothing is begun then. Empty: the command is at work, until
  // end(). One that has no more than the agents is not looked at.
  std::filesystem::path begin(const agent::AgentSpec& flow, const std::string& command);
  void end(const agent::AgentSpec& flow, const std::string& command) noexcept;

  void begin_agent();
  void end_agent();

 private:
  struct File {
    tools::FileWatch watch;
    bool is_run = false;
    int makers = 0;                // commands at work that name it
    bool is_agent_beside = false;  // one was at work since the first of these began
  };
  struct Flow {
    std::map<std::string, std::vector<std::filesystem::path>> named;  // by the command line
    std::map<std::filesystem::path, File> files;
  };

  Flow* find(const agent::AgentSpec& flow);

  std::mutex mutex_;
  std::map<std::filesystem::path, Flow> flows_;  // by its file, links followed
  int agents_ = 0;                               // at work
};

}  // namespace cli
