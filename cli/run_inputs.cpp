#include "cli/run_inputs.h"

#include "agent/text.h"
#include "cli/run_sinks.h"
#include "config/replay_script.h"
#include "providers/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;

agent::Result<void> check_all(const Parsed& parsed, const std::vector<RunInput>& inputs) {
  for (const RunInput& input : inputs) {
    TRY(check_is_no_output(parsed, input.what, input.file.string()));
  }
  return {};
}

}  // namespace

std::vector<RunInput> inputs_of(const Parsed& parsed) {
  std::vector<RunInput> inputs;
  if (const auto file = parsed.value("--prompt-file"); file && *file != "-") {
    inputs.push_back({.what = "the prompt file", .file = *file});
  }
  if (const auto file = parsed.value("--replay")) {
    inputs.push_back({.what = "the recording", .file = *file});
  }
  if (parsed.command->name == "batch" && parsed.positionals.size() > 1 &&
      parsed.positionals[1] != "-") {
    inputs.push_back({.what = "the file of inputs", .file = parsed.positionals[1]});
  }
  return inputs;
}

std::vector<RunInput> scripts_of(const Plan& plan) {
  std::vector<RunInput> scripts;
  for (const Plan& member : plan.members) {
    std::ranges::move(scripts_of(member), std::back_inserter(scripts));
  }
  for (const auto* choices : {&plan.chain, &plan.judges, &plan.summarizer}) {
    for (const providers::Choice& choice : *choices) {
      if (choice.resolved.protocol == providers::k_replay) {
        scripts.push_back(
            {.what = "the script", .file = plan.script_folder / choice.resolved.model});
      }
    }
  }
  return scripts;
}

void add_names_of_members(const agent::AgentSpec& agent,
                          const std::function<bool(std::size_t step)>& is_flow,
                          MemberNames& names) {
  for (std::size_t number = 0; number < agent.steps.size(); ++number) {
    const agent::StepSpec& step = agent.steps[number];
    if (!step.is_command() && !is_flow(number)) {
      names.insert(step.name);
    }
  }
  const auto add = [&](const auto& members, auto name) {
    std::ranges::transform(members, std::inserter(names, names.end()), name);
  };
  add(agent.sub_agents, &agent::SubAgentSpec::name);
  add(agent.handoffs, &agent::HandoffSpec::name);
}

namespace {

void add_names_below(const Plan& plan, MemberNames& names) {
  add_names_of_members(
      plan.agent, [&](std::size_t step) { return plan.members[step].is_flow(); }, names);
  for (const Plan& member : plan.members) {
    add_names_below(member, names);
  }
}

agent::Result<void> check_members_of_script(const fs::path& file, const MemberNames& names) {
  TRY_ASSIGN(const agent::ReplayScript script, config::load_replay_script(file));
  for (const auto& [name, replies] : script.members) {
    if (names.empty()) {
      return agent::fail(
          agent::Code::config_invalid,
          fmt::format("the script {} has `members`, and the agent has none", file.string()),
          "take them out, or run the flow or the agent that they are of");
    }
    if (!names.contains(name)) {
      return agent::fail(
          agent::Code::config_invalid,
          fmt::format("the script {} has replies for `{}`, and no step that is an agent, no "
                      "sub-agent and no hand-over is called so",
                      file.string(),
                      agent::one_line(name, 60)),
          fmt::format("it may be one of: {}", fmt::join(names, ", ")));
    }
  }
  return {};
}

}  // namespace

agent::Result<void> check_members_of_scripts(const std::set<fs::path>& scripts,
                                             const MemberNames& names) {
  for (const fs::path& file : scripts) {
    TRY(check_members_of_script(file, names));
  }
  return {};
}

agent::Result<void> check_members_of_scripts(const Plan& plan) {
  if (plan.members.empty()) {
    return {};  // whoever plays it looks at it
  }
  MemberNames names;
  add_names_below(plan, names);
  std::set<fs::path> files;
  for (RunInput& script : scripts_of(plan)) {
    files.insert(std::move(script.file));
  }
  return check_members_of_scripts(files, names);
}

agent::Result<void> check_inputs(const Parsed& parsed, const AgentChoice& agent) {
  std::vector<RunInput> inputs = inputs_of(parsed);
  inputs.push_back({.what = "the agent file", .file = agent.file});
  return check_all(parsed, inputs);
}

agent::Result<void> check_inputs(const Parsed& parsed, const Plan& plan) {
  std::vector<RunInput> inputs = scripts_of(plan);
  for (const agent::ContextFile& file : plan.agent.context) {
    inputs.push_back(
        {.what = "a file of `context`", .file = fs::path(plan.agent.directory) / file.path});
  }
  return check_all(parsed, inputs);
}

std::vector<fs::path> obeyed_inputs(const Parsed& parsed, const Plan& plan) {
  std::vector<fs::path> files;
  for (const auto& inputs : {inputs_of(parsed), scripts_of(plan)}) {
    std::ranges::transform(inputs, std::back_inserter(files), [](const RunInput& input) {
      return fs::absolute(input.file);
    });
  }
  return files;
}

}  // namespace cli
