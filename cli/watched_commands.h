// The members of flows that must not be at work at the same time: a command that may do what agents
// may not names files, and nobody else is to change them while it is at work.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/plan.h"
#include "cli/user_places.h"
#include "tools/hooks/file_watch.h"

#include <array>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

// Of an outermost flow. What such commands name is what it was when that began, but for what they
// have made themselves that none of them runs. From any thread.
class WatchedCommands {
 public:
  WatchedCommands(const OtherAgents& all, const Context& context);

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
    enum class Kind : std::uint8_t { reader, writer, command };  // the last two wait for each other

    Turn(WatchedCommands* commands, Kind kind) : commands_(commands), kind_(kind) {}

    WatchedCommands* commands_ = nullptr;
    Kind kind_ = Kind::reader;
  };

  // Waits for such commands, where the agent, or one that belongs to it, can write. Who comes first
  // begins first. Not held where `stop` came before that. A flow is as an agent that reads: its
  // members are at work.
  Turn begin_agent(const Plan& agent, const std::stop_token& stop);
  // Waits for agents. sandbox.violation: what it names is no longer what it was. One that may no
  // more than the agents is as one that can write.
  agent::Result<Turn> begin_command(const agent::AgentSpec& flow,
                                    const std::string& command,
                                    const std::stop_token& stop);

 private:
  using Kind = Turn::Kind;

  struct File {
    tools::FileWatch watch;
    bool is_run = false;
    bool is_changed = false;  // before the first of the commands at work began
  };

  Turn begin(Kind kind, const std::stop_token& stop);
  void end(Kind kind) noexcept;
  int& at_work(Kind kind) { return at_work_.at(static_cast<std::size_t>(kind)); }
  void look_at_files();
  void take_what_they_made();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Kind> waiting_;  // the first to come in front
  std::array<int, 3> at_work_{};
  using CommandLine = std::pair<std::filesystem::path, std::string>;  // of the flow's file
  std::map<CommandLine, std::vector<std::filesystem::path>> named_;
  std::map<std::filesystem::path, File> files_;
};

}  // namespace cli
