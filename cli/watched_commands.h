// The members of flows that must not be at work at the same time: a command that may do what agents
// may not names files, and nobody else is to change them while it is at work.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/plan.h"
#include "cli/user_places.h"
#include "tools/hooks/file_watch.h"

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

// Of an outermost flow. At work at the same time are agents that can write, or such commands of one
// flow, which have the same rights. What these name is what it was when the outermost flow began,
// but for what they have made themselves that none of them runs. From any thread.
class WatchedCommands {
 public:
  WatchedCommands(const OtherAgents& all, const Context& context);

  // Whether there are such commands, and agents that they are kept from.
  bool has_some() const { return !named_.empty(); }

  // One member at work, until it goes. Borrows.
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    bool is_held() const { return commands_ != nullptr; }

   private:
    friend WatchedCommands;

    Turn(WatchedCommands* commands, bool counts) : commands_(commands), counts_(counts) {}

    WatchedCommands* commands_ = nullptr;
    bool counts_ = false;  // others wait for its end
  };

  // Waits for such commands, where the agent, or one that belongs to it, can write. Who comes first
  // begins first. Not held where `stop` came before that. A flow waits for nobody: its members do.
  Turn begin_agent(const Plan& agent, const std::stop_token& stop);
  // Waits for these, and for commands of other flows. sandbox.violation: what it names is no longer
  // what it was. One that may no more than the agents is as one of these.
  agent::Result<Turn> begin_command(const agent::AgentSpec& flow,
                                    const std::string& command,
                                    const std::stop_token& stop);

 private:
  using Group = std::filesystem::path;  // the flow's file; empty: agents that can write

  struct File {
    tools::FileWatch watch;
    bool is_run = false;
    bool is_changed = false;  // before the first of the commands at work began
  };

  Turn begin(const Group& group, const std::stop_token& stop);
  void end() noexcept;
  void look_at_files();
  void take_what_they_made();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Group> waiting_;  // the first to come in front
  Group group_;               // of those at work
  int at_work_ = 0;
  // Of the flows whose commands may more, by their files, links followed: what each line names.
  std::map<Group, std::map<std::string, std::vector<std::filesystem::path>>> named_;
  std::map<std::filesystem::path, File> files_;
};

}  // namespace cli
