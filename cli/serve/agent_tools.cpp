#include "cli/serve/agent_tools.h"

#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/state.h"
#include "agent/text.h"
#include "cli/agent_as_tool.h"
#include "cli/early_end.h"
#include "cli/find_run.h"
#include "cli/old_runs.h"
#include "cli/open_sandbox.h"
#include "cli/run_session.h"
#include "cli/serve/run_progress.h"
#include "cli/terminal/event_lines.h"
#include "cli/terminal/render_error.h"
#include "config/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <set>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;
using agent::Result;

// Clients take objects alone for what is structured.
Json output_schema_of(const agent::AgentSpec& agent) {
  Json schema = agent::parse_json(agent.output.schema).value_or(Json());
  return agent::text_at(schema, "type") == "object" ? schema : Json();
}

Error misfit(const std::vector<agent::JsonSchema::Violation>& violations) {
  std::string message = "the arguments do not fit the tool's schema";
  for (const auto& [pointer, what, is_type] : violations) {
    message += fmt::format("; {} {}", pointer.empty() ? "they" : pointer, what);
  }
  return {.code = Code::cli_usage,
          .message = std::move(message),
          .help = "`inputSchema` of the tool says what it takes"};
}

Result<void> check_is_served(const std::map<std::string, std::string>& parameters,
                             const std::vector<Plan>& plans) {
  for (const auto& [name, value] : parameters) {
    if (std::ranges::none_of(plans,
                             [&](const Plan& plan) { return has_parameter(plan.agent, name); })) {
      return agent::fail(Code::cli_usage,
                         fmt::format("no agent here has a parameter `{}`", agent::one_line(name)),
                         "`--param` sets one for all calls");
    }
  }
  return {};
}

}  // namespace

ServedTool tool_of(const agent::AgentSpec& agent, const std::map<std::string, std::string>& given) {
  return {.name = agent.name,
          .description = description_as_tool(agent),
          .input_schema = input_schema_of(agent, given),
          .output_schema = output_schema_of(agent)};
}

ServedResult result_of(const agent::RunResult& result,
                       const agent::Redactor& redactor,
                       bool is_structured) {
  ServedResult served{.is_error = result.exit_code != 0};
  const bool is_answer = agent::status_of(result.exit_code) == agent::Status::ok ||
                         agent::status_of(result.exit_code) == agent::Status::failed;
  if (served.is_error) {
    const auto errors = result.error ? std::span(&*result.error, 1) : std::span<const Error>();
    std::string how = render_ending(errors, result.exit_code, bill(result), false, redactor);
    if (!result.resume_cmd.empty() && agent::is_resumable(result.exit_code)) {
      how += "\ncarry it on: " + redactor.apply(result.resume_cmd);
    }
    served.texts.push_back(std::move(how));
  }
  if (!result.text.empty() || !served.is_error) {
    served.texts.push_back((is_answer ? "" : "What it had said by then:\n\n") +
                           redactor.apply(result.text));
  }
  Json details = agent::to_json(result);
  details.erase("text");
  served.details = agent::parse_json(redactor.dump(details)).value_or(Json::object());
  if (is_structured && !served.is_error) {
    served.structured = served.details["output"];
  }
  served.details.erase("output");
  return served;
}

Result<std::unique_ptr<AgentTools>> AgentTools::create(World world, std::vector<Plan> plans) {
  std::unique_ptr<AgentTools> tools(new AgentTools(std::move(world)));
  TRY_ASSIGN(const auto parameters, parameters_of(tools->world_.parsed));
  TRY(check_is_served(parameters, plans));
  for (Plan& plan : plans) {
    TRY(tools->add(std::move(plan), parameters));
  }
  return tools;
}

Result<void> AgentTools::add(Plan plan, const std::map<std::string, std::string>& parameters) {
  if (std::ranges::find(tools_, plan.agent.name, &ServedTool::name) != tools_.end()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("two of the agents are called {}", plan.agent.name),
                       "give each a `name` of its own");
  }
  TRY(check_can_be_told(plan.agent));
  std::map<std::string, std::string> given;
  for (const agent::ParameterSpec& parameter : plan.agent.parameters) {
    if (const auto value = parameters.find(parameter.name); value != parameters.end()) {
      TRY(config::check_parameter(parameter, value->second));
      given.insert(*value);
    }
  }
  ServedTool tool = tool_of(plan.agent, given);
  TRY_ASSIGN(auto input, agent::JsonSchema::compile(tool.input_schema));
  plan.reads_stdin = true;  // it is not the runs' to look at
  auto reading = reading_policy(plan.agent, plan.settings, world_.parsed, world_.context);
  served_.push_back({.plan = std::move(plan),
                     .given = std::move(given),
                     .input = std::move(input),
                     .reading = std::move(reading),
                     .is_structured = !tool.output_schema.is_null()});
  tools_.push_back(std::move(tool));
  return {};
}

ServedResult AgentTools::call(std::string_view tool,
                              const Json& arguments,
                              agent::Cancellation& cancellation,
                              const ServedProgress& progress) {
  const auto at = std::ranges::find(tools_, tool, &ServedTool::name) - tools_.begin();
  const Served& served = served_[static_cast<std::size_t>(at)];
  const auto began = std::chrono::steady_clock::now();
  const auto before_run = [&](Error why) {
    return result_before_run(std::move(why), cancellation, served.plan.agent.limits.timeout, began);
  };
  const auto result = [&]() -> agent::RunResult {
    try {
      auto ended = perform(served, arguments, cancellation, progress);
      return ended ? *std::move(ended) : before_run(std::move(ended).error());
    } catch (const std::exception& exception) {
      return before_run(agent::error_of(exception));
    }
  }();
  world_.log.say(fmt::format("{}: {} ({}), {}{}",
                             tool,
                             agent::exit_row(result.exit_code).name,
                             result.exit_code,
                             bill(result),
                             result.run_id.empty() ? "" : ", run " + result.run_id),
                 result.exit_code == 0 ? 1 : 0);
  return result_of(result, world_.redactor, served.is_structured);
}

Result<agent::RunResult> AgentTools::perform(const Served& served,
                                             const Json& arguments,
                                             agent::Cancellation& cancellation,
                                             const ServedProgress& progress) const {
  if (cancellation.stop().stop_requested()) {
    return agent::fail(Code::run_cancelled, "it was stopped before it had begun");
  }
  if (const auto violations = served.input.check(arguments); !violations.empty()) {
    return agent::fail(misfit(violations));
  }
  const OutsideInput input = input_of(arguments, served.plan.agent);
  Plan plan = served.plan;
  TRY_ASSIGN(plan.text, texts_of(input, served.given, served.plan, served.reading));
  RunProgress sink(progress, [this](const agent::Warning& one) { world_.log.warn(one); });
  TRY_ASSIGN(const auto session,
             RunSession::open({.context = world_.context,
                               .supervisor = world_.supervisor,
                               .redactor = world_.redactor,
                               .http = world_.http,
                               .models = world_.models,
                               .parsed = command_line_of(input, served.given, world_.parsed),
                               .sinks = {&sink},
                               .cancellation = cancellation,
                               .obeyed = world_.obeyed},
                              agent::new_run_id(),
                              {.agent = {.file = served.plan.agent.file}},
                              std::move(plan)));
  return session->run();
}

std::vector<agent::Error> AgentTools::remove_old_runs() const {
  std::vector<agent::Error> warnings;
  for (const Served& served : served_) {
    if (world_.parsed.has("--no-session")) {
      return warnings;
    }
    const auto store = store_of(served.plan.agent, world_.context.environment);
    if (auto warning = cli::remove_old_runs(served.plan.agent,
                                            store.is_relative() ? std::filesystem::path() : store,
                                            world_.context.cwd,
                                            world_.context.environment)) {
      warnings.push_back(*std::move(warning));
    }
  }
  return warnings;
}

}  // namespace cli
