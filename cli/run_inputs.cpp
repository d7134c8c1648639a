#include "cli/run_inputs.h"

#include "cli/run_sinks.h"
#include "providers/registry.h"

#include <iterator>
#include <optional>
#include <ranges>
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
