#include "cli/test_export.h"

#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <variant>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Json;

// Endings that come of replies, tools and the agent file alone.
constexpr auto k_repeatable_ends = std::to_array<int>({0, 1, 80, 83, 86, 111, 112, 113});

constexpr std::string_view k_parameter = "--param=";
// Options that a case needs no word for: what answers is its script.
constexpr auto k_unneeded = std::to_array<std::string_view>({"--model=", "--key-host="});

std::unexpected<agent::Error> no_case(std::string_view why, std::string help) {
  return agent::fail(Code::cli_usage,
                     fmt::format("no test case can be made of this run: {}", why),
                     std::move(help));
}

std::unexpected<agent::Error> needs_recording(std::string_view why) {
  return no_case(why, "record the run anew: errand run --record FILE, and `recording: FILE`");
}

agent::Result<void> check_case_options(const agent::RunStarted& started) {
  for (const std::string& option : started.made_from.options) {
    const bool is_unneeded = std::ranges::any_of(
        k_unneeded, [&](std::string_view prefix) { return option.starts_with(prefix); });
    const std::string shown = agent::one_line(option, 80);
    if (option.contains(agent::k_redacted)) {
      return no_case(fmt::format("there was a secret in `{}`", shown), "write the case by hand");
    }
    if (!is_unneeded && !option.starts_with(k_parameter)) {
      return no_case(fmt::format("`{}` was on its command line", shown),
                     "put it into the agent file, and run that");
    }
  }
  return {};
}

agent::Result<void> check_start(const agent::RunStarted& started) {
  if (started.agent_file.empty()) {
    return no_case("it has no agent file", "`errand init` writes one");
  }
  if (started.resumes || started.forked_from || !started.opening.empty()) {
    return no_case("it was carried on, or goes on from another", "export a run that ended at once");
  }
  if (!started.attachments.empty()) {
    return no_case("its prompt has files with it", "name them in the agent's own `prompt`");
  }
  return check_case_options(started);
}

agent::Result<void> check_end(const agent::Event& last) {
  const auto* finished = std::get_if<agent::RunFinished>(&last.body);
  if (finished == nullptr) {
    return no_case("it has not ended", "`errand resume` carries it on");
  }
  const int code = finished->result.exit_code;
  if (std::ranges::find(k_repeatable_ends, code) == k_repeatable_ends.end()) {
    return no_case(fmt::format("it ended with {} ({}), which no script of its replies leads to",
                               code,
                               agent::exit_row(code).name),
                   "write the case by hand: a script plays faults, too");
  }
  return {};
}

// What else happened that a script of the replies would not bring about.
agent::Result<void> check_event(const agent::EventBody& body) {
  if (std::holds_alternative<agent::ApprovalRequested>(body)) {
    return no_case("calls of it wait for a person's answer, or had one",
                   "`permissions` can do that");
  }
  if (std::holds_alternative<agent::MemberStarted>(body)) {
    return needs_recording("other agents worked in it, and each has a script of its own");
  }
  if (std::holds_alternative<agent::ContextCompacted>(body)) {
    return needs_recording("its conversation was made shorter");
  }
  const auto* guardrail = std::get_if<agent::GuardrailRan>(&body);
  if (guardrail != nullptr && guardrail->judge) {
    return needs_recording("a model judged for its guardrails");
  }
  return {};
}

Json call_json(const agent::ToolCall& call) {
  const auto arguments = agent::parse_json(call.arguments);
  return {{"name", call.name},
          {"arguments", arguments && arguments->is_object() ? *arguments : Json(call.arguments)},
          {"id", call.id}};
}

Json reply_json(const agent::Reply& reply) {
  Json json = Json::object();
  if (!reply.text.empty() || reply.tool_calls.empty()) {
    json["text"] = reply.text;
  }
  for (const agent::ToolCall& call : reply.tool_calls) {
    json["tool_calls"].push_back(call_json(call));
  }
  const auto usual =
      reply.tool_calls.empty() ? agent::StopReason::end_turn : agent::StopReason::tool_use;
  if (reply.stop_reason != usual) {
    json["stop_reason"] = agent::to_string(reply.stop_reason);
  }
  return json;
}

// JSON is YAML, but for characters that YAML has no place for: these are escaped.
std::string yaml(const Json& value, const agent::Redactor& redactor) {
  return agent::printable_json(redactor.dump(value));
}

std::map<std::string, std::string> recorded_parameters(const agent::RunStarted& started) {
  std::map<std::string, std::string> parameters;
  for (std::string_view option : started.made_from.options) {
    if (option.starts_with(k_parameter)) {
      option.remove_prefix(k_parameter.size());
      const std::size_t equals = option.find('=');
      if (equals != std::string_view::npos) {
        parameters[std::string(option.substr(0, equals))] = option.substr(equals + 1);
      }
    }
  }
  return parameters;
}

std::string expectations(std::span<const agent::Event> events, const agent::Redactor& redactor) {
  const auto& result = std::get<agent::RunFinished>(events.back().body).result;
  std::string out = fmt::format("expect:\n  exit_code: {}\n", result.exit_code);
  if (!agent::trimmed(result.text).empty()) {
    out += fmt::format("  text: {{equals: {}}}\n", yaml(result.text, redactor));
  }
  Json tools = Json::array();
  for (const agent::Event& event : events) {
    if (const auto* started = std::get_if<agent::ToolStarted>(&event.body)) {
      tools.push_back(started->name);
    }
  }
  return out + fmt::format("  tools: {}\n", yaml(tools, redactor));
}

}  // namespace

agent::Result<void> check_can_be_case(std::span<const agent::Event> events) {
  const auto* started =
      events.empty() ? nullptr : std::get_if<agent::RunStarted>(&events.front().body);
  if (started == nullptr) {
    return no_case("it has no beginning", "`errand runs doctor` looks at the journal");
  }
  TRY(check_start(*started));
  for (const agent::Event& event : events.subspan(1)) {
    if (std::holds_alternative<agent::RunStarted>(event.body)) {
      return no_case("it was carried on", "export a run that ended at once");
    }
    TRY(check_event(event.body));
  }
  return check_end(events.back());
}

ExportedCase case_of_run(std::span<const agent::Event> events,
                         const CasePaths& paths,
                         const agent::Redactor& redactor) {
  const auto& started = std::get<agent::RunStarted>(events.front().body);
  ExportedCase exported;
  exported.test = fmt::format("# Of the run {}.\nversion: 1\nagent: {}\nreplay: {}\n",
                              events.front().run_id,
                              yaml(paths.agent, redactor),
                              yaml(paths.script, redactor));
  if (!agent::trimmed(started.prompt).empty()) {
    exported.test += fmt::format("prompt: {}\n", yaml(started.prompt, redactor));
  }
  if (const auto parameters = recorded_parameters(started); !parameters.empty()) {
    exported.test += fmt::format("parameters: {}\n", yaml(Json(parameters), redactor));
  }
  if (!paths.workspace.empty()) {
    exported.test += fmt::format("workspace: {}\n", yaml(paths.workspace, redactor));
  }
  exported.test += expectations(events, redactor);
  exported.script = fmt::format("# Of the run {}.\nversion: 1\nreplies:\n", events.front().run_id);
  for (const agent::Event& event : events) {
    if (const auto* responded = std::get_if<agent::ModelResponded>(&event.body)) {
      exported.script += fmt::format("  - {}\n", yaml(reply_json(*responded->reply), redactor));
    }
  }
  return exported;
}

}  // namespace cli
