#include "cli/early_end.h"

#include "agent/event.h"
#include "agent/state.h"
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

}  // namespace

int end_early(const EarlyEnd& end,
              AnswerSink& answer,
              const agent::Redactor& redactor,
              std::ostream& err) {
  agent::RunResult result =
      agent::make_result(agent::State({}), {.error = end.errors.front(), .signal = end.signal});
  result.run_id = end.run_id;
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
