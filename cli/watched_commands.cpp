#include "cli/watched_commands.h"

#include "agent/text.h"
#include "cli/agents_at_work.h"
#include "cli/flow_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

namespace cli {

namespace fs = std::filesystem;

namespace {

fs::path file_of_flow(const agent::AgentSpec& flow) {
  const fs::path file = agent::file_of(flow);
  std::error_code error;
  fs::path real = fs::weakly_canonical(file, error);
  return error ? file : real;
}

}  // namespace

WatchedCommands::Turn::Turn(Turn&& other) noexcept
    : commands_(std::exchange(other.commands_, nullptr)), counts_(other.counts_) {}

WatchedCommands::Turn::~Turn() {
  if (commands_ != nullptr && counts_) {
    commands_->end();
  }
}

WatchedCommands::WatchedCommands(const OtherAgents& all, const Context& context) {
  if (std::ranges::none_of(all, is_confined_writer)) {
    return;
  }
  for (const agent::AgentSpec* flow : all) {
    for (const agent::StepSpec& step : flow->steps) {
      if (!step.is_command() || !opens_more(*flow, all)) {
        continue;
      }
      const NamedFiles files = files_named(step.command, context);
      std::vector<fs::path>& named = named_[file_of_flow(*flow)][step.command];
      for (const auto* some : {&files.run, &files.other}) {
        for (const fs::path& file : *some) {
          auto known = files_.find(file);
          if (known == files_.end()) {  // else it is read already
            known = files_.emplace(file, File{.watch = tools::FileWatch({file})}).first;
          }
          known->second.is_run = known->second.is_run || some == &files.run;
          named.push_back(file);
        }
      }
    }
  }
}

WatchedCommands::Turn WatchedCommands::begin_agent(const Plan& agent, const std::stop_token& stop) {
  const bool writes =
      !agent.is_flow() && std::ranges::any_of(agents_at_work(agent), is_confined_writer);
  return writes ? begin({}, stop) : Turn(this, false);
}

agent::Result<WatchedCommands::Turn> WatchedCommands::begin_command(const agent::AgentSpec& flow,
                                                                    const std::string& command,
                                                                    const std::stop_token& stop) {
  const auto named = named_.find(file_of_flow(flow));
  if (named == named_.end()) {
    return begin({}, stop);
  }
  Turn turn = begin(named->first, stop);  // before the lock: it ends behind that
  if (!turn.is_held()) {
    return turn;
  }
  const std::scoped_lock lock(mutex_);
  for (const fs::path& name : named->second.at(command)) {
    const File& file = files_.at(name);
    if (file.is_changed || (file.is_run && !file.watch.changed().empty())) {
      return agent::fail(
          agent::Code::sandbox_violation,
          fmt::format("the command was not run: `{}`, which it names, is not what it was when the "
                      "flow began",
                      agent::one_line(name.string(), 200)),
          "look at the file: what is carried on, or begun anew, takes it as it is then");
    }
  }
  return turn;
}

WatchedCommands::Turn WatchedCommands::begin(const Group& group, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto place = waiting_.insert(waiting_.end(), group);
  const auto is_other = [&](const Group& one) { return one != group; };
  const bool is_held = changed_.wait(lock, stop, [&] {
    return (at_work_ == 0 || group_ == group) && std::none_of(waiting_.begin(), place, is_other);
  });
  waiting_.erase(place);
  changed_.notify_all();
  if (!is_held) {
    return {};
  }
  if (at_work_ == 0 && !group.empty()) {
    look_at_files();
  }
  group_ = group;
  ++at_work_;
  return {this, true};
}

void WatchedCommands::end() noexcept {
  const std::scoped_lock lock(mutex_);
  if (--at_work_ == 0 && !group_.empty()) {
    take_what_they_made();
  }
  changed_.notify_all();
}

void WatchedCommands::look_at_files() {
  for (auto& [name, file] : files_) {
    file.is_changed = !file.watch.changed().empty();
  }
}

// Nobody else was at work that is in a sandbox and can write.
void WatchedCommands::take_what_they_made() try {
  for (auto& [name, file] : files_) {
    if (!file.is_run && !file.is_changed) {
      file.watch = tools::FileWatch({name});
    }
  }
} catch (const std::exception&) {
  return;  // what they have made is then not what it was, and no command that names it is run
}

}  // namespace cli
