#include "cli/early_end.h"

#include "agent/duration.h"
#include "agent/event.h"
#include "agent/state.h"
#include "agent/step.h"
#include "agent/text.h"
#include "cli/terminal/event_lines.h"
#include "cli/terminal/render_error.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace cli {
namespace {

void tell(AnswerSink& answer, const std::string& run_id, std::int64_t seq, agent::EventBody body) {
  answer.on({.run_id = run_id,
             .seq = seq,
             .time = std::chrono::system_clock::now(),
             .body = std::move(body)});
}

agent::Ending ending_of(agent::Error why, int signal, std::optional<agent::Milliseconds> timeout) {
  agent::Ending ending{.error = std::move(why), .signal = signal};
  if (ending.error->code == agent::Code::run_timeout) {
    const auto ms = timeout.value_or(agent::Milliseconds{0}).count();
    const double seconds = static_cast<double>(ms) / 1000;
    ending.stop =
        agent::stopped_at(ending.error->code, seconds, seconds, ending.error->message).stop;
  }
  return ending;
}

std::int64_t milliseconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration_cast<agent::Milliseconds>(std::chrono::steady_clock::now() - began)
      .count();
}

}  // namespace

agent::Error stop_before_run(const agent::Cancellation& cancellation,
                             std::optional<agent::Milliseconds> timeout,
                             std::string_view doing) {
  if (cancellation.signal_number() != 0) {
    return {.code = agent::Code::run_cancelled,
            .message = fmt::format(
                "a signal came before the run had started{}{}", doing.empty() ? "" : ": ", doing),
            .help = {}};
  }
  return {
      .code = agent::Code::run_timeout,
      .message = fmt::format("the run had not started after {}: {}",
                             agent::format_duration(timeout.value_or(agent::Milliseconds{0})),
                             doing.empty() ? "it may wait for its prompt or for a reader" : doing),
      .help = {}};
}

agent::RunResult result_before_run(agent::Error why,
                                   const agent::Cancellation& cancellation,
                                   std::optional<agent::Milliseconds> timeout,
                                   std::chrono::steady_clock::time_point began) {
  const int signal = cancellation.signal_number();
  const auto given = signal == 0 ? cancellation.ending() : std::nullopt;
  if (!given && why.code == agent::Code::run_cancelled &&
      (signal != 0 || cancellation.is_expired())) {
    why = stop_before_run(cancellation, timeout, why.message);
  }
  agent::RunResult result = agent::make_result(
      agent::State({}), given ? *given : ending_of(std::move(why), signal, timeout));
  result.duration_ms = milliseconds_since(began);
  return result;
}

int end_early(const EarlyEnd& end,
              AnswerSink& answer,
              const agent::Redactor& redactor,
              std::ostream& err) {
  const agent::Ending ending = ending_of(end.errors.front(), end.signal, end.timeout);
  agent::RunResult result =
      end.earlier ? end.earlier->result : agent::RunResult{.run_id = end.run_id};
  result.exit_code = agent::exit_code(ending);
  result.error = ending.error;
  if (result.exit_code == agent::row(agent::Code::cli_usage).exit_code) {
    result.resume_cmd.clear();  // that command line is what was just refused
  }
  result.stop = agent::make_result(agent::State({}), ending).stop;
  if (end.began) {
    result.duration_ms = milliseconds_since(*end.began);
  }
  const bool was_asked = end.earlier && result.turns > 0;
  err << render_ending(
             end.errors, result.exit_code, was_asked ? bill(result) : "", end.color, redactor)
      << "\n";
  if (was_asked && !result.resume_cmd.empty()) {
    err << redactor.apply("carry it on: " + agent::one_line(result.resume_cmd)) << "\n";
  }
  err.flush();
  const std::int64_t seq = end.earlier ? end.earlier->seq : 0;
  tell(answer,
       result.run_id,
       seq + 1,
       agent::RunStarted{.version = ERRAND_VERSION,
                         .agent_file = end.agent_file,
                         .cwd = end.cwd,
                         .resumes = end.earlier ? std::optional(seq) : std::nullopt});
  tell(answer, result.run_id, seq + 2, agent::RunFinished{.result = result});
  return result.exit_code;
}

}  // namespace cli
