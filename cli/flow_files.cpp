#include "cli/flow_files.h"

#include "agent/environment.h"
#include "cli/agents_at_work.h"
#include "cli/flow_commands.h"
#include "cli/flow_tree.h"
#include "cli/known_names.h"
#include "cli/run_inputs.h"
#include "config/load.h"
#include "tools/hooks/obeyed_files.h"
#include "tools/hooks/script_files.h"

#include <algorithm>
#include <iterator>

namespace cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_named(const std::string& command, const Context& context) {
  tools::Scripts named = tools::read_scripts(
      command, {.directory = context.cwd, .home = agent::value_of(context.environment, "HOME")});
  std::ranges::move(named.more, std::back_inserter(named.files));
  return std::move(named.files);
}

void add_files(const Plan& plan,
               const OtherAgents& all,
               const Parsed& parsed,
               const Context& context,
               std::vector<fs::path>& files) {
  const std::string home(agent::value_of(context.environment, "HOME"));
  std::ranges::move(obeyed_inputs(parsed, plan), std::back_inserter(files));
  std::ranges::move(tools::obeyed_files(plan.agent, context.cwd, home), std::back_inserter(files));
  for (const agent::StepSpec& step : plan.agent.steps) {
    if (step.is_command() && opens_more(plan.agent, all)) {
      std::ranges::move(files_named(step.command, context), std::back_inserter(files));
    }
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

std::vector<fs::path> obeyed_above(const agent::AgentSpec& above, const Context& context) {
  const fs::path home(agent::value_of(context.environment, "HOME"));
  const auto load = [&](const fs::path& file) {
    return config::load_agent(
               file.lexically_proximate(context.cwd), context.environment, known_names())
        .agent;
  };
  std::vector<agent::Error> ignored;  // said where it is begun
  const FlowTree tree = flow_tree(above, load, context, ignored);
  std::vector<fs::path> files;
  for (const agent::AgentSpec* one : agents_at_work(tree)) {
    std::ranges::move(tools::obeyed_files(*one, context.cwd, home), std::back_inserter(files));
  }
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
