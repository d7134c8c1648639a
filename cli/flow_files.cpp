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
#include <iterator>
#include <set>

namespace cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_named(const std::string& command, const Context& context) {
  tools::Scripts named = tools::read_scripts(command,
                                             {.directory = context.cwd,
                                              .home = agent::value_of(context.environment, "HOME"),
                                              .environment = context.environment});
  std::ranges::move(named.more, std::back_inserter(named.files));
  std::ranges::move(named.modules, std::back_inserter(named.files));
  return std::move(named.files);
}

// Of a flow that opens more to its commands than tools have: what their lines name.
void add_commands(const agent::AgentSpec& flow,
                  const OtherAgents& all,
                  const Context& context,
                  std::vector<fs::path>& files) {
  for (const agent::StepSpec& step : flow.steps) {
    if (step.is_command() && opens_more(flow, all)) {
      std::ranges::move(files_named(step.command, context), std::back_inserter(files));
    }
  }
}

void add_files(const Plan& plan,
               const OtherAgents& all,
               const Parsed& parsed,
               const Context& context,
               std::vector<fs::path>& files) {
  std::ranges::move(obeyed_inputs(parsed, plan), std::back_inserter(files));
  std::ranges::move(tools::obeyed_files(plan.agent, context.cwd, context.environment),
                    std::back_inserter(files));
  std::ranges::move(tools::run_outside(plan.agent, context.cwd, context.environment),
                    std::back_inserter(files));
  add_commands(plan.agent, all, context, files);
}

// Also those that are not there yet, or are mistaken today.
void add_agents_named(const agent::AgentSpec& agent, std::vector<fs::path>& files) {
  const auto add = [&](const std::string& file) {
    if (!file.empty()) {
      files.push_back(fs::path(agent.directory) / file);
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

}  // namespace

std::vector<fs::path> obeyed_by_all(const Plan& whole,
                                    const Parsed& parsed,
                                    const Context& context) {
  std::vector<fs::path> files;
  const OtherAgents all = agents_at_work(whole);
  for (const Plan* one : plans_at_work(whole)) {
    add_files(*one, all, parsed, context, files);
  }
  return files;
}

std::vector<fs::path> obeyed_by_agent(const agent::AgentSpec& whole, const Context& context) {
  const auto load = [&](const fs::path& file) {
    return config::load_agent(
               file.lexically_proximate(context.cwd), context.environment, known_names())
        .agent;
  };
  std::vector<agent::Error> ignored;  // said where it is begun
  const FlowTree tree = flow_tree(whole, load, context, ignored);
  const OtherAgents all = agents_at_work(tree);
  std::vector<fs::path> files;
  for (const agent::AgentSpec* one : all) {
    std::ranges::move(tools::obeyed_files(*one, context.cwd, context.environment),
                      std::back_inserter(files));
    add_agents_named(*one, files);
    add_commands(*one, all, context, files);
  }
  return files;
}

std::vector<fs::path> obeyed_by_next_agents(const Context& context) {
  std::set<fs::path> named;
  for (const std::string& name : agents_right_in(context.cwd)) {
    named.insert(context.cwd / name);
  }
  for (const fs::path& file : config::files_named_by_test_cases(context.cwd)) {
    named.insert(file.lexically_normal());
  }
  std::vector<fs::path> files(named.begin(), named.end());  // also those that lack something yet
  for (const fs::path& file : named) {
    const auto other = config::load_agent(file, context.environment, known_names()).agent;
    if (other) {
      std::ranges::move(obeyed_by_agent(*other, context), std::back_inserter(files));
    }
  }
  return files;
}

std::vector<fs::path> obeyed_by_hand(const agent::AgentSpec& whole, const Context& context) {
  std::vector<fs::path> files = obeyed_by_agent(whole, context);
  std::ranges::move(obeyed_by_next_agents(context), std::back_inserter(files));
  return files;
}

WatchedCommands watched_commands(const OtherAgents& all, const Context& context) {
  WatchedCommands watched;
  if (std::ranges::none_of(all, is_confined_writer)) {
    return watched;
  }
  for (const agent::AgentSpec* flow : all) {
    for (const agent::StepSpec& step : flow->steps) {
      if (step.is_command() && opens_more(*flow, all) && !watched.contains(step.command)) {
        watched.emplace(step.command, tools::FileWatch(files_named(step.command, context)));
      }
    }
  }
  return watched;
}

}  // namespace cli
