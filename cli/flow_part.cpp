#include "cli/flow_part.h"

#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "agent/store/runs.h"
#include "agent/text.h"
#include "cli/find_run.h"
#include "cli/known_names.h"
#include "cli/run_choice.h"
#include "cli/user_folders.h"
#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

std::string_view option_of(const Parsed& parsed) {
  return parsed.has("--from") ? "--from" : "--only";
}

bool is_of(const RecordedRun& run, const agent::AgentSpec& flow) {
  std::error_code error;
  return run.begun.plan.is_flow &&
         fs::equivalent(agent_file_of(run.begun), agent::file_of(flow), error);
}

Result<RecordedRun> newest_run(const fs::path& store,
                               const agent::AgentSpec& flow,
                               const Context& context) {
  TRY_ASSIGN(const std::string folder, folder_of(context));
  const auto runs = agent::store::list_runs(store, {.folder = folder, .agent = flow.name});
  if (!runs && runs.error().code != Code::storage_not_found) {
    return agent::fail(runs.error());
  }
  for (const agent::store::RunInfo& info : runs ? *runs : std::vector<agent::store::RunInfo>()) {
    TRY_ASSIGN(auto run, recall(store, info.row.run_id, context.environment));
    if (is_of(run, flow)) {
      return run;
    }
  }
  return agent::fail(
      Code::cli_usage,
      fmt::format("no run of the flow {} is recorded in this folder", agent::one_line(flow.file)),
      "run the whole flow first; `--session RUN` names another run");
}

// Where the command line does not say otherwise, it is about the same.
Result<void> take_inputs(const RecordedRun& run, Parsed& parsed, AgentChoice& agent) {
  const auto& messages = run.past.state.conversation.messages;
  const auto* said =
      messages.empty() ? nullptr : std::get_if<agent::UserMessage>(&messages.front());
  const bool has_prompt =
      !agent.prompt.empty() || parsed.has("--prompt") || parsed.has("--prompt-file");
  if (!has_prompt && said != nullptr && !said->text.empty()) {
    if (said->text.contains(agent::k_redacted)) {
      return agent::fail(
          Code::cli_usage,
          fmt::format("the prompt of the run {} had a secret in it, which is not in the journal",
                      run.run_id),
          "give the prompt again");
    }
    parsed.values["--prompt"] = {said->text};
  }
  if (!parsed.has("--param")) {
    for (const std::string& option : run.begun.made_from.options) {
      if (option.starts_with("--param=") && !option.contains(agent::k_redacted)) {
        parsed.values["--param"].push_back(option.substr(std::string_view("--param=").size()));
      }
    }
  }
  return {};
}

}  // namespace

Result<RunSource> part_of_flow(AgentChoice agent, Parsed& parsed, Context& context) {
  const auto report = config::load_agent(agent.file, context.environment, known_names());
  if (!report.agent) {
    return RunSource{.agent = std::move(agent)};  // what is wrong is told when it is loaded
  }
  const agent::AgentSpec& flow = *report.agent;
  if (flow.steps.empty()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`{}` names a step of a flow, and {} is an agent",
                                   option_of(parsed),
                                   agent::one_line(agent.file)),
                       "name a file with `steps`");
  }
  TRY(parts_asked_for(parsed, flow.steps));
  const fs::path store = store_of(flow, context.environment);
  const auto session = parsed.value("--session");
  TRY_ASSIGN(auto run,
             session ? find_run(store, *session, context) : newest_run(store, flow, context));
  if (!is_of(run, flow)) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the run {} is not one of {}", run.run_id, agent::one_line(flow.file)),
        "`errand runs list` shows which are");
  }
  TRY(check_is_own(run, "run the whole flow"));
  parsed.values.erase("--session");
  TRY(take_inputs(run, parsed, agent));
  RunSource source{.agent = std::move(agent)};
  source.taken = std::move(run);
  return source;
}

Result<std::vector<agent::flow::Part>> parts_asked_for(const Parsed& parsed,
                                                       const std::vector<agent::StepSpec>& steps) {
  const std::string_view option = option_of(parsed);
  const auto name = parsed.value(option);
  if (!name) {
    return std::vector<agent::flow::Part>();
  }
  const auto found = std::ranges::find(steps, *name, &agent::StepSpec::name);
  if (found == steps.end()) {
    std::vector<std::string> names;
    std::ranges::transform(steps, std::back_inserter(names), &agent::StepSpec::name);
    return agent::fail(
        Code::cli_usage,
        fmt::format("`{} {}`: there is no such step", option, agent::one_line(*name, 60)),
        fmt::format("the steps: {}", fmt::join(names, ", ")));
  }
  const auto step = static_cast<std::size_t>(found - steps.begin());
  return option == "--from" ? agent::flow::parts_from(steps, step)
                            : agent::flow::parts_of_one(steps, step);
}

Result<agent::MemberFinished> taken_member(const RecordedRun& run,
                                           const agent::StepSpec& step,
                                           const agent::MemberKey& key) {
  const auto& [name, item, round] = key;
  const agent::MemberRecord* last = nullptr;
  for (const auto& [other, record] : run.past.state.members) {
    if (std::get<0>(other) == name && std::get<1>(other) == item) {
      last = &record;  // the rounds are in order
    }
  }
  const std::string member = item < 0 ? name : fmt::format("{}[{}]", name, item);
  const std::string help = fmt::format("`--from {}` runs it again, too", name);
  if (last == nullptr || !last->finished || last->finished->suspended) {
    return agent::fail(Code::cli_usage,
                       fmt::format("step `{}` has {} in the run {}, and what it brings is needed",
                                   member,
                                   last == nullptr ? "no record" : "not ended",
                                   run.run_id),
                       help + "; `--session RUN` names another run");
  }
  agent::MemberFinished taken = *last->finished;
  const agent::RunResult& result = taken.result;
  if (result.exit_code != 0 && step.on_error == agent::StepSpec::OnError::stop) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("step `{}` ended as {} ({}) in the run {}, and what it brings is "
                    "needed",
                    member,
                    agent::exit_row(result.exit_code).name,
                    result.exit_code,
                    run.run_id),
        help);
  }
  taken.round = round;
  taken.taken_from = taken.taken_from.value_or(run.run_id);
  return taken;
}

}  // namespace cli
