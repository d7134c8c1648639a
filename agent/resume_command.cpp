#include "agent/resume_command.h"

#include "agent/duration.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace agent {
namespace {

constexpr std::string_view k_max_turns = "limits.max_turns";
constexpr std::string_view k_max_cost = "limits.max_cost_usd";
constexpr std::string_view k_timeout = "limits.timeout";
constexpr std::string_view k_max_tokens = "limits.max_total_tokens";
constexpr std::string_view k_max_tool_calls = "limits.max_tool_calls";
constexpr std::string_view k_max_handoffs = "limits.max_handoffs";
constexpr std::string_view k_approval_deadline = "approval.deadline";  // it is over, and told

struct Raise {
  std::string_view option;
  std::string value;
};

std::int64_t twice(std::int64_t number) {
  return number > INT64_MAX / 2 ? INT64_MAX : 2 * number;
}

// The limit as a number, and what of it is used: twice of it, or of that where it is more already.
std::int64_t raised(std::int64_t limit, std::int64_t used) {
  return twice(limit) > used ? twice(limit) : twice(used);
}

// A limit of nothing has to become something.
Money raised(Money limit, Money used) {
  constexpr Money k_least = Money::from_picos(10'000'000'000);  // a cent
  const Money twice_as_much = Money::from_picos(raised(limit.picos(), used.picos()));
  return limit == Money() ? std::max(twice_as_much, k_least) : twice_as_much;
}

Milliseconds raised(Milliseconds limit, Milliseconds used) {
  constexpr Milliseconds k_longest = std::chrono::hours(24 * 365);
  using Seconds = std::chrono::seconds;
  const Milliseconds whole = std::chrono::ceil<Seconds>(used);
  return std::min(Milliseconds(raised(limit.count(), whole.count())), std::max(limit, k_longest));
}

// Nothing: no option raises it so that the run goes on.
std::optional<Raise> raise_of(const RunResult& result, const Limits& limits) {
  const std::string& limit = result.stop->limit;
  if (limit == k_max_turns && limits.max_turns) {
    return Raise{"--max-turns", fmt::format("{}", raised(*limits.max_turns, result.turns))};
  }
  // Where the cost is unknown, no limit of it can be kept.
  if (limit == k_max_cost && limits.max_cost_usd && result.cost) {
    return Raise{"--max-cost", raised(*limits.max_cost_usd, *result.cost).text()};
  }
  if (limit == k_timeout && limits.timeout) {
    const Milliseconds used{result.duration_ms};
    return Raise{"--timeout", format_duration(raised(*limits.timeout, used))};
  }
  return std::nullopt;
}

bool is_of_provider(const std::optional<Error>& error) {
  return error && row(error->code).name.starts_with("provider.");
}

// So is the window of a model, where no other one is named.
bool is_of_the_file(const RunResult& result) {
  const std::string& limit = result.stop->limit;
  return limit == k_max_tokens || limit == k_max_tool_calls || limit == k_max_cost ||
         limit == k_max_handoffs || result.exit_code == row(Code::context_overflow).exit_code;
}

bool is_of_another(const RunResult& result) {
  return result.stop && !result.stop->run_id.empty() && result.stop->run_id != result.run_id;
}

std::optional<Raise> own_raise_of(const RunResult& result, const Limits& limits) {
  return result.stop && !is_of_another(result) ? raise_of(result, limits) : std::nullopt;
}

}  // namespace

std::string resume_words(std::string_view run_id, std::string_view store) {
  return "errand resume " + shell_word(run_id) +
         (store == "auto" ? std::string() : " --store " + shell_word(store));
}

std::string resume_command(const ResumeCommand& resume,
                           const RunResult& result,
                           const Limits& limits) {
  if (resume.words.empty()) {
    return {};
  }
  if (is_of_another(result) && !result.stop->way_on.empty()) {
    return result.stop->way_on;
  }
  std::string command = resume.words;
  const auto raise = own_raise_of(result, limits);
  for (const std::string& option : resume.options) {
    if (!raise || !option.starts_with(fmt::format("{}=", raise->option))) {
      command += " " + shell_word(option);
    }
  }
  if (raise) {
    command += fmt::format(" {} {}", raise->option, raise->value);
  } else if (result.stop && !resume.agent_file.empty() &&
             result.stop->limit != k_approval_deadline &&
             ((is_of_another(result) && !result.stop->limit.empty()) || is_of_the_file(result))) {
    command += " --agent " + shell_word(resume.agent_file);
  } else if (is_of_provider(result.error) && !resume.changed_file.empty()) {
    command += " --agent " + shell_word(resume.changed_file);
  }
  if (needs_message(result.exit_code)) {
    command += k_place_of_message;
  }
  return command;
}

void tell_whose_stop(RunResult& result, const Limits& limits) {
  if (!result.stop || !result.stop->run_id.empty()) {
    return;
  }
  const bool does_it = own_raise_of(result, limits) || result.resume_cmd.contains(" --approve ");
  result.stop->run_id = result.run_id;
  result.stop->way_on = does_it ? result.resume_cmd : "";
}

void tell_of_member(RunResult& result, const ResumeCommand& resume) {
  if (!is_of_another(result) || result.stop->way_on.empty() || !result.error) {
    return;
  }
  const std::string whole =
      resume.words.empty() ? ""
                           : fmt::format(", and then `{}` this run", one_line(resume.words, 300));
  result.error->help =
      fmt::format("`{}` carries on the member{}", one_line(result.stop->way_on, 300), whole);
}

void tell_of_record(RunResult& result, const ResumeCommand& resume) {
  if (!result.error || !resume.is_by_record) {
    return;
  }
  std::string words;
  if (!resume.changed_file.empty()) {
    words = fmt::format("{} has changed since, and the recorded one counted: `--agent {}` takes it",
                        one_line(resume.changed_file),
                        one_line(shell_word(resume.changed_file)));
  } else if (is_of_provider(result.error)) {
    words = "the recorded agent file counts: where you change it, `--agent FILE` takes it";
  } else {
    return;
  }
  std::string& help = result.error->help;
  help = help.empty() ? std::string(row(result.error->code).advice) : help;
  if (help.ends_with('.')) {
    help.pop_back();
  }
  help += "; " + words;
}

void settle_message(RunResult& result) {
  if (!needs_message(result.exit_code) && result.resume_cmd.ends_with(k_place_of_message)) {
    result.resume_cmd.resize(result.resume_cmd.size() - k_place_of_message.size());
  }
}

}  // namespace agent
