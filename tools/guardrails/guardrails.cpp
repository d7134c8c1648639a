#include "tools/guardrails/guardrails.h"

#include "agent/absence.h"
#include "agent/json.h"
#include "tools/hooks/name_matcher.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/stat.h>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::Error;
using agent::GuardrailSpec;
using agent::HookPoint;
using Action = GuardrailSpec::Action;
using Of = GuardrailSpec::Of;
namespace fs = std::filesystem;

struct OfRow {
  Of of;
  HookPoint point;
  std::string_view name;  // in the agent file
  std::string_view what;  // in messages
};
constexpr auto k_of = std::to_array<OfRow>({
    {Of::input, HookPoint::run_start, "input", "the prompt"},
    {Of::output, HookPoint::stop, "output", "the answer"},
    {Of::tool_call, HookPoint::pre_tool_use, "tool_call", "this call"},
    {Of::tool_result, HookPoint::post_tool_use, "tool_result", "this result"},
});

const OfRow& row_of(Of of) {
  return *std::ranges::find(k_of, of, &OfRow::of);
}

std::string_view word_of(Action action) {
  switch (action) {
    case Action::warn:
      return "warn";
    case Action::redact:
      return "redact";
    case Action::deny:
      return "deny";
    case Action::kill:
      return "kill";
  }
  return {};
}

// The weaker of what the agent file and the command say.
Action weaker(Action action, std::optional<Action> at_most) {
  return at_most ? std::min(action, *at_most) : action;
}

bool is_local(const GuardrailSpec& spec) {
  return spec.kind == GuardrailSpec::Kind::pattern || spec.kind == GuardrailSpec::Kind::find;
}

// JSON in which no character is written as an escape that need not be; empty: the text is that, or
// no JSON.
std::string without_escapes(std::string_view text) {
  const auto json = text.contains('\\') ? agent::parse_json(text) : std::nullopt;
  return json ? agent::dump(*json) : std::string();
}

bool may_refuse(const GuardrailSpec& spec) {
  return spec.action == Action::deny || spec.action == Action::kill;
}

}  // namespace

std::string_view to_string(Of of) {
  return row_of(of).name;
}

agent::Result<fs::path> kill_file(const agent::AgentSpec& agent,
                                  const agent::Environment& environment) {
  const std::string& path = agent.guardrails.kill_switch;
  if (path.empty()) {
    return fs::path();
  }
  if (!path.starts_with("~/")) {
    return (fs::path(agent.directory) / path).lexically_normal();
  }
  const std::string_view home = agent::value_of(environment, "HOME");
  if (home.empty()) {
    return agent::fail(Code::config_invalid,
                       fmt::format("`guardrails.kill_switch` is `{}`, and HOME is not set", path),
                       "set HOME, or write an absolute path");
  }
  return (fs::path(home) / path.substr(2)).lexically_normal();
}

std::optional<Error> killed_by(const fs::path& kill_file) {
  struct stat status{};
  if (kill_file.empty()) {
    return std::nullopt;
  }
  const bool is_there = ::lstat(kill_file.c_str(), &status) == 0;
  const int number = errno;
  if (!is_there && agent::is_absent(kill_file)) {
    return std::nullopt;
  }
  return Error{.code = Code::guardrail_killed,
               .message = is_there ? fmt::format("the kill switch is on: there is a file `{}`",
                                                 kill_file.string())
                                   : fmt::format("cannot look for the kill switch `{}`: {}",
                                                 kill_file.string(),
                                                 std::strerror(number)),
               .help = is_there ? "remove the file to let agents run again"
                                : "make its folder readable, or change `guardrails.kill_switch`"};
}

bool has_output_checks(const agent::GuardrailsSpec& spec) {
  return std::ranges::find(spec.checks, Of::output, &GuardrailSpec::of) != spec.checks.end();
}

struct Guardrails::Row {
  GuardrailSpec spec;
  NameMatcher tool;
  std::unique_ptr<GuardrailCheck> check;
};

Guardrails::Guardrails(const agent::GuardrailsSpec& spec, fs::path kill_file, GuardrailWorld world)
    : kill_file_(std::move(kill_file)), retries_(spec.retries), file_(std::move(world.file)) {
  auto judge = world.judges.begin();
  for (const GuardrailSpec& check : spec.checks) {
    Row row{.spec = check, .tool = NameMatcher(check.tool), .check = nullptr};
    switch (check.kind) {
      case GuardrailSpec::Kind::pattern:
      case GuardrailSpec::Kind::find:
        row.check = make_text_check(check, *world.redactor);
        break;
      case GuardrailSpec::Kind::command:
        row.check = make_command_check(check, world.programs_of(check.sandbox));
        break;
      case GuardrailSpec::Kind::judge:
        row.check = make_judge_check(check, *judge++, *world.clock);
        break;
    }
    rows_.push_back(std::move(row));
  }
}

Guardrails::~Guardrails() = default;

bool Guardrails::applies(const Row& row, const agent::HookContext& hook_context) const {
  return row_of(row.spec.of).point == hook_context.point &&
         (hook_context.call == nullptr || row.tool.fits(hook_context.call->name));
}

Finding Guardrails::look(Row& row,
                         const agent::HookContext& hook_context,
                         std::string_view text,
                         const std::stop_token& stop) {
  if (hook_context.is_partial && !is_local(row.spec)) {
    return {.kind = may_refuse(row.spec) ? Finding::Kind::broken : Finding::Kind::clean,
            .reason = "the run ended before it could look"};
  }
  const std::string plain = is_local(row.spec) ? std::string() : without_escapes(text);
  return row.check->look({.of = row.spec.of,
                          .text = plain.empty() ? text : plain,
                          .call = hook_context.call,
                          .budget = hook_context.budget},
                         stop);
}

agent::HookDecision Guardrails::judge(const agent::HookContext& hook_context,
                                      const agent::Emit& emit,
                                      std::stop_token stop) {
  agent::HookDecision decision;
  for (Row& row : rows_) {
    if (!applies(row, hook_context)) {
      continue;
    }
    if (!is_local(row.spec) && !hook_context.is_partial) {
      decision.ending = killed();
      if (decision.ending) {
        return decision;
      }
    }
    const std::string_view text = decision.text ? *decision.text : hook_context.text;
    act(row, hook_context, look(row, hook_context, text, stop), emit, decision);
    if (decision.ending || decision.refusal) {
      break;
    }
  }
  return decision;
}

void Guardrails::act(const Row& row,
                     const agent::HookContext& hook_context,
                     Finding finding,
                     const agent::Emit& emit,
                     agent::HookDecision& decision) const {
  const bool is_broken = finding.kind == Finding::Kind::broken;
  if (finding.kind == Finding::Kind::clean && is_local(row.spec)) {
    return;
  }
  Action action = weaker(row.spec.action, finding.at_most);
  if ((is_broken && action != Action::warn) || finding.ending ||
      (action == Action::redact && !finding.redacted)) {
    action = Action::deny;
  }
  const bool is_clean = finding.kind == Finding::Kind::clean;
  if (is_broken && !finding.ending) {
    finding.reason = "the check broke: " + finding.reason;
  }
  agent::GuardrailRan event{
      .turn = hook_context.turn,
      .point = hook_context.point,
      .guardrail = row.spec.name,
      .call_id = hook_context.call != nullptr ? hook_context.call->id : "",
      .action = is_clean ? "allow" : std::string(word_of(action)),
      .reason = finding.reason,
      .judge = std::move(finding.judge),
      .text = std::nullopt,
  };
  if (!is_clean && action == Action::redact) {
    decision.text = std::move(finding.redacted);
    if (row.spec.of == Of::input || row.spec.of == Of::output) {
      event.text = decision.text;
    }
  }
  emit(std::move(event));
  if (is_clean) {
    return;
  }
  if (finding.ending) {
    decision.ending = std::move(finding.ending->error);
    decision.stop = std::move(finding.ending->stop);
  } else if (action == Action::kill) {
    decision.ending =
        error(Code::guardrail_killed,
              fmt::format("the guardrail `{}` ended the run: {}", row.spec.name, finding.reason),
              row);
  } else if (action == Action::deny) {
    refuse(row, hook_context, finding.reason, decision);
  }
}

void Guardrails::refuse(const Row& row,
                        const agent::HookContext& hook_context,
                        const std::string& reason,
                        agent::HookDecision& decision) const {
  const bool is_answer = row.spec.of == Of::output;
  std::string message = fmt::format(
      "the guardrail `{}` refused {}: {}", row.spec.name, row_of(row.spec.of).what, reason);
  if (row.spec.of == Of::input || (is_answer && hook_context.denials >= retries_)) {
    decision.ending = error(Code::guardrail_denied, std::move(message), row);
    return;
  }
  decision.is_denial = is_answer;
  decision.refusal = is_answer ? fmt::format(
                                     "Nobody has read your last answer: {}. Answer again "
                                     "without it, and do not mention it.",
                                     message)
                               : std::move(message);
}

Error Guardrails::error(Code code, std::string message, const Row& row) const {
  std::string help = fmt::format("the check is in `guardrails.{}` of {}",
                                 to_string(row.spec.of),
                                 file_.empty() ? "the agent file" : file_);
  if (row.spec.of == Of::input) {
    help += "; change the prompt, or the check";
  } else if (code == Code::guardrail_denied) {
    help += "; `guardrails.retries` says how often the model may answer again";
  }
  return {.code = code, .message = std::move(message), .help = std::move(help)};
}

}  // namespace tools
