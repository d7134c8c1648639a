#include "cli/flow_files.h"

#include "cli/agent_choice.h"
#include "cli/agents_at_work.h"
#include "cli/flow_commands.h"
#include "cli/flow_tree.h"
#include "cli/known_names.h"
#include "cli/run_inputs.h"
#include "config/load.h"
#include "config/test_case.h"
#include "tools/hooks/obeyed_files.h"

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
        files.push_back({.path = std::move(path), .is_only_named = true});
      }
    }
  }
}

// What the checks of one agent run, where they may more than another one that can write.
void add_checks(const agent::AgentSpec& agent,
                const OtherAgents& all,
                const Context& context,
                Obeyed& files) {
  const bool has_others = std::ranges::any_of(all, [&](const agent::AgentSpec* other) {
    return other != &agent && is_confined_writer(other);
  });
  if (!agent.checks.commands.empty() && has_others && opens_more(agent, all)) {
    add_all(tools::run_by_checks(agent, context.cwd, context.environment), files);
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
  add_checks(plan.agent, all, context, files);
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
      add_checks(*one, all, context_, files);
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

std::vector<fs::path> paths_for_commands(const Obeyed& files) {
  Obeyed others = files;
  std::erase_if(others, &ObeyedFile::is_only_named);
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

}  // namespace cli
