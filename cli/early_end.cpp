#include "cli/early_end.h"

#include "agent/event.h"
#include "agent/state.h"
#include "agent/step.h"
#include "cli/terminal/render_error.h"

#include <chrono>
#include <utility>

namespace cli {
namespace {

void tell(AnswerSink& answer, const EarlyEnd& end, std::int64_t seq, agent::EventBody body) {
  answer.on({.run_id = end.run_id,
             .seq = seq,
             .time = std::chrono::system_clock::now(),
             .body = std::move(body)});
}

agent::Ending ending_of(const EarlyEnd& end) {
  agent::Ending ending{.error = end.errors.front(), .signal = end.signal};
  if (ending.error->code == agent::Code::run_timeout) {
    const auto ms = end.timeout.value_or(agent::Milliseconds{0}).count();
    const double seconds = static_cast<double>(ms) / 1000;
    ending.stop =
        agent::stopped_at(ending.error->code, seconds, seconds, ending.error->message).stop;
  }
  return ending;
}

}  // namespace

int end_early(const EarlyEnd& end,
              AnswerSink& answer,
              const agent::Redactor& redactor,
              std::ostream& err) {
  agent::RunResult result = agent::make_result(agent::State({}), ending_of(end));
  result.run_id = end.run_id;
  if (end.began) {
    result.duration_ms = std::chrono::duration_cast<agent::Milliseconds>(
                             std::chrono::steady_clock::now() - *end.began)
                             .count();
  }
  err << render_ending(end.errors, result.exit_code, "", end.color, redactor) << "\n";
  err.flush();
  tell(answer,
       end,
       1,
       agent::RunStarted{.version = ERRAND_VERSION, .agent_file = end.agent_file, .cwd = end.cwd});
  tell(answer, end, 2, agent::RunFinished{.result = result});
  return result.exit_code;
}

}  // namespace cli
