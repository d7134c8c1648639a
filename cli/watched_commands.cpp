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

WatchedCommands::Place::Place(Place&& other) noexcept
    : commands_(std::exchange(other.commands_, nullptr)),
      at_(other.at_),
      command_(std::move(other.command_)) {}

WatchedCommands::Place::~Place() {
  if (commands_ != nullptr) {
    const std::scoped_lock lock(commands_->mutex_);
    commands_->waiting_.erase(at_);
    commands_->changed_.notify_all();
  }
}

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

WatchedCommands::Place WatchedCommands::come(const Plan& agent) {
  const bool waits =
      !agent.is_flow() && std::ranges::any_of(agents_at_work(agent), is_confined_writer);
  return waits ? come(Group(), "") : Place("");
}

WatchedCommands::Place WatchedCommands::come(const agent::AgentSpec& flow, std::string command) {
  Group group = file_of_flow(flow);
  return come(named_.contains(group) ? std::move(group) : Group(), std::move(command));
}

WatchedCommands::Place WatchedCommands::come(Group group, std::string command) {
  Place place(std::move(command));
  const std::scoped_lock lock(mutex_);
  place.at_ = waiting_.insert(waiting_.end(), std::move(group));
  place.commands_ = this;
  return place;
}

agent::Result<WatchedCommands::Turn> WatchedCommands::begin(Place place,
                                                            const std::stop_token& stop) {
  if (place.commands_ == nullptr) {
    return Turn(this, false);
  }
  const Group group = *place.at_;
  std::unique_lock lock(mutex_);
  const auto is_other = [&](const Group& one) { return one != group; };
  const bool is_next = changed_.wait(lock, stop, [&] {
    return (at_work_ == 0 || group_ == group) &&
           std::none_of(waiting_.begin(), place.at_, is_other);
  });
  if (!is_next) {
    return Turn();
  }
  if (!group.empty()) {
    if (at_work_ == 0) {
      look_at_files();
    }
    TRY(check_files(named_.at(group).at(place.command_)));
  }
  group_ = group;
  ++at_work_;
  return Turn(this, true);
}

agent::Result<void> WatchedCommands::check_files(const std::vector<fs::path>& names) const {
  for (const fs::path& name : names) {
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
  return {};
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
