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
#include <utility>
#include <vector>

namespace cli {

// Of an outermost flow. At work at the same time are agents that can write, or such commands of one
// flow, which have the same rights. Who comes first begins first. What these name is what it was
// when the outermost flow began, but for what they have made themselves that none of them runs.
// From any thread.
class WatchedCommands {
  using Group = std::filesystem::path;  // the flow's file; empty: agents that can write

 public:
  WatchedCommands(const OtherAgents& all, const Context& context);

  // Whether there are such commands, and agents that they are kept from.
  bool has_some() const { return !named_.empty(); }

  // A member that has come, until it begins or goes. Borrows.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    friend WatchedCommands;

    explicit Place(std::string command) : command_(std::move(command)) {}

    WatchedCommands* commands_ = nullptr;  // null: it waits for nobody
    std::list<Group>::iterator at_;
    std::string command_;  // empty: an agent
  };

  // Of an agent that can write, or one to which one belongs that can: it waits for such commands. A
  // flow waits for nobody: its members do.
  Place come(const Plan& agent);
  // Waits for these agents, and for commands of other flows. One that may no more than the agents
  // is as one of them.
  Place come(const agent::AgentSpec& flow, std::string command);

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

  // Not held where `stop` came before its turn. sandbox.violation: what the command names is no
  // longer what it was.
  agent::Result<Turn> begin(Place place, const std::stop_token& stop);

 private:
  struct File {
    tools::FileWatch watch;
    bool is_run = false;
    bool is_changed = false;  // before the first of the commands at work began
  };

  Place come(Group group, std::string command);
  agent::Result<void> check_files(const std::vector<std::filesystem::path>& names) const;
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
