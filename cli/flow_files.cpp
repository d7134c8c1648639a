#include "cli/flow_files.h"

#include "agent/environment.h"
#include "cli/agent_choice.h"
#include "cli/agents_at_work.h"
#include "cli/flow_commands.h"
#include "cli/flow_tree.h"
#include "cli/known_names.h"
#include "cli/run_inputs.h"
#include "config/load.h"
#include "config/test_case.h"
#include "tools/hooks/obeyed_files.h"
#include "tools/hooks/script_files.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <system_error>

namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t k_most_read_of_next_agents = 1U << 20;  // bytes

struct NamedFiles {
  std::vector<fs::path> run;    // by the line, a shell or an interpreter
  std::vector<fs::path> other;  // beside these
};

NamedFiles files_named(const std::string& command, const Context& context) {
  tools::Scripts named = tools::read_scripts(command,
                                             {.directory = context.cwd,
                                              .home = agent::value_of(context.environment, "HOME"),
                                              .environment = context.environment});
  NamedFiles files{.run = std::move(named.modules), .other = std::move(named.files)};
  std::ranges::move(named.to_run, std::back_inserter(files.run));
  std::ranges::move(named.run, std::back_inserter(files.run));
  std::ranges::move(named.more, std::back_inserter(files.other));
  std::erase_if(files.other, [&](const fs::path& file) {
    return std::ranges::find(files.run, file.native(), &fs::path::native) != files.run.end();
  });
  return files;
}

fs::path file_of_flow(const agent::AgentSpec& flow) {
  const fs::path file = agent::file_of(flow);
  std::error_code error;
  fs::path real = fs::weakly_canonical(file, error);
  return error ? file : real;
}

void add_all(std::vector<fs::path> paths, Obeyed& files) {
  for (fs::path& path : paths) {
    files.push_back({.path = std::move(path)});
  }
}

// Of a flow that opens more to its commands than tools have: what their lines name.
void add_commands(const agent::AgentSpec& flow,
                  const OtherAgents& all,
                  const Context& context,
                  Obeyed& files) {
  for (const agent::StepSpec& step : flow.steps) {
    if (step.is_command() && opens_more(flow, all)) {
      NamedFiles named = files_named(step.command, context);
      cli::add_all(std::move(named.run), files);
      for (fs::path& path : named.other) {
        files.push_back({.path = std::move(path), .flow = file_of_flow(flow)});
      }
    }
  }
}

void add_files(const Plan& plan,
               const OtherAgents& all,
               const Parsed& parsed,
               const Context& context,
               Obeyed& files) {
  add_all(obeyed_inputs(parsed, plan), files);
  add_all(tools::obeyed_files(plan.agent, context.cwd, context.environment), files);
  add_all(tools::run_outside(plan.agent, context.cwd, context.environment), files);
  add_commands(plan.agent, all, context, files);
}

// Also those that are not there yet, or are mistaken today.
void add_agents_named(const agent::AgentSpec& agent, Obeyed& files) {
  const auto add = [&](const std::string& file) {
    if (!file.empty()) {
      files.push_back({.path = fs::path(agent.directory) / file});
    }
  };
  for (const agent::SubAgentSpec& sub : agent.sub_agents) {
    add(sub.file);
  }
  for (const agent::HandoffSpec& handoff : agent.handoffs) {
    add(handoff.file);
  }
  for (const agent::StepSpec& step : agent.steps) {
    add(step.agent);
  }
}

// Each file once, as it is now, and so many bytes in all: a folder may hold anything, and nothing
// has begun that a deadline would end.
class AgentReader {
 public:
  explicit AgentReader(const Context& context, std::uintmax_t room = k_unlimited)
      : context_(context), room_(room) {}

  // Nullptr: it cannot be read, or there is no room for it.
  const agent::AgentSpec* read(const fs::path& file) {
    if (++asked_ > k_most_asked || context_.cancellation.stop().stop_requested()) {
      return nullptr;
    }
    const fs::path name = file.lexically_proximate(context_.cwd);
    const auto [known, is_new] = read_.try_emplace(name);
    std::error_code error;
    const std::uintmax_t size = is_new ? fs::file_size(context_.cwd / name, error) : 0;
    if (is_new && !error && size <= room_) {
      room_ -= room_ == k_unlimited ? 0 : size;
      known->second = config::load_agent(name, context_.environment, known_names()).agent;
    }
    return known->second ? &*known->second : nullptr;
  }

  // An agent's files hang on the rights that it has where it stands in the tree.
  Obeyed obeyed_by(const agent::AgentSpec& whole) {
    const auto load = [this](const fs::path& file) {
      const agent::AgentSpec* const found = read(file);
      return found != nullptr ? std::optional(*found) : std::nullopt;
    };
    std::vector<agent::Error> ignored;  // said where it is begun
    const FlowTree tree = flow_tree(whole, load, context_, ignored);
    const OtherAgents all = agents_at_work(tree);
    Obeyed files;
    for (const agent::AgentSpec* one : all) {
      cli::add_all(tools::obeyed_files(*one, context_.cwd, context_.environment), files);
      add_agents_named(*one, files);
      add_commands(*one, all, context_, files);
    }
    return files;
  }

 private:
  static constexpr int k_most_asked = 500;  // a few files that name each other make a large tree
  static constexpr std::uintmax_t k_unlimited = std::numeric_limits<std::uintmax_t>::max();

  const Context& context_;
  std::uintmax_t room_;  // bytes
  int asked_ = 0;
  std::map<fs::path, std::optional<agent::AgentSpec>> read_;
};

}  // namespace

std::vector<fs::path> paths_of(const Obeyed& files) {
  std::vector<fs::path> paths;
  std::ranges::transform(files, std::back_inserter(paths), &ObeyedFile::path);
  return paths;
}

std::vector<fs::path> paths_for_commands_of(const agent::AgentSpec& flow, const Obeyed& files) {
  Obeyed others = files;
  std::erase_if(others,
                [own = file_of_flow(flow)](const ObeyedFile& one) { return one.flow == own; });
  return paths_of(others);
}

Obeyed obeyed_by_all(const Plan& whole, const Parsed& parsed, const Context& context) {
  Obeyed files;
  const OtherAgents all = agents_at_work(whole);
  for (const Plan* one : plans_at_work(whole)) {
    add_files(*one, all, parsed, context, files);
  }
  return files;
}

Obeyed obeyed_by_agent(const agent::AgentSpec& whole, const Context& context) {
  return AgentReader(context).obeyed_by(whole);
}

Obeyed obeyed_by_next_agents(const Context& context) {
  std::set<fs::path> named;
  for (const std::string& name : agents_right_in(context.cwd)) {
    named.insert(context.cwd / name);
  }
  for (const fs::path& file : config::files_named_by_test_cases(context.cwd)) {
    named.insert(file.lexically_normal());
  }
  Obeyed files;
  add_all({named.begin(), named.end()}, files);  // also those that lack something yet
  std::multimap<std::uintmax_t, fs::path> smallest_first;
  for (const fs::path& file : named) {
    std::error_code error;
    if (const std::uintmax_t size = fs::file_size(file, error); !error) {
      smallest_first.emplace(size, file);
    }
  }
  AgentReader reader(context, k_most_read_of_next_agents);
  for (const auto& [size, file] : smallest_first) {
    if (const agent::AgentSpec* const other = reader.read(file)) {
      std::ranges::move(reader.obeyed_by(*other), std::back_inserter(files));
    }
  }
  return files;
}

std::vector<fs::path> obeyed_by_hand(const agent::AgentSpec& whole, const Context& context) {
  Obeyed files = obeyed_by_agent(whole, context);
  std::ranges::move(obeyed_by_next_agents(context), std::back_inserter(files));
  return paths_of(files);
}

WatchedCommands::WatchedCommands(const OtherAgents& all, const Context& context) {
  if (std::ranges::none_of(all, is_confined_writer)) {
    return;
  }
  for (const agent::AgentSpec* one : all) {
    for (const agent::StepSpec& step : one->steps) {
      if (!step.is_command() || !opens_more(*one, all)) {
        continue;
      }
      Flow& flow = flows_[file_of_flow(*one)];
      const NamedFiles files = files_named(step.command, context);
      std::vector<fs::path>& named = flow.named[step.command];
      for (const auto* some : {&files.run, &files.other}) {
        for (const fs::path& file : *some) {
          auto known = flow.files.find(file);
          if (known == flow.files.end()) {  // else it is read already
            known = flow.files.emplace(file, File{.watch = tools::FileWatch({file})}).first;
          }
          known->second.is_run = known->second.is_run || some == &files.run;
          named.push_back(file);
        }
      }
    }
  }
}

WatchedCommands::Flow* WatchedCommands::find(const agent::AgentSpec& flow) {
  const auto found = flows_.find(file_of_flow(flow));
  return found == flows_.end() ? nullptr : &found->second;
}

fs::path WatchedCommands::begin(const agent::AgentSpec& flow, const std::string& command) {
  const std::scoped_lock lock(mutex_);
  Flow* const watched = find(flow);
  if (watched == nullptr) {
    return {};
  }
  const std::vector<fs::path>& named = watched->named[command];
  for (const fs::path& name : named) {
    const File& file = watched->files.at(name);
    const bool is_being_made = file.makers > 0 && !file.is_run && !file.is_agent_beside;
    if (!is_being_made && !file.watch.changed().empty()) {
      return name;
    }
  }
  for (const fs::path& name : named) {
    File& file = watched->files.at(name);
    file.is_agent_beside = (file.makers > 0 && file.is_agent_beside) || agents_ > 0;
    ++file.makers;
  }
  return {};
}

void WatchedCommands::end(const agent::AgentSpec& flow, const std::string& command) noexcept try {
  const std::scoped_lock lock(mutex_);
  Flow* const watched = find(flow);
  if (watched == nullptr) {
    return;
  }
  for (const fs::path& name : watched->named[command]) {
    File& file = watched->files.at(name);
    if (--file.makers == 0 && !file.is_run && !file.is_agent_beside) {
      file.watch = tools::FileWatch({name});
    }
  }
} catch (const std::exception&) {
  return;  // what it has made is then not what it was, and no command that names it is run
}

void WatchedCommands::begin_agent() {
  const std::scoped_lock lock(mutex_);
  ++agents_;
  for (auto& [name, flow] : flows_) {
    for (auto& [path, file] : flow.files) {
      file.is_agent_beside = true;  // begin() of the first maker looks anew
    }
  }
}

void WatchedCommands::end_agent() {
  const std::scoped_lock lock(mutex_);
  --agents_;
}

}  // namespace cli
