// Endings before the first request: a bad option, a bad agent file, no key. They have a result
// object too, in the format that was asked for.
#pragma once
#include "agent/cancellation.h"
#include "agent/error.h"
#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "cli/terminal/answer_sink.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// What a recorded run has come to, which stays as it is.
struct ComeTo {
  agent::RunResult result;
  std::int64_t seq = 0;  // of its last event
};

struct EarlyEnd {
  std::vector<agent::Error> errors;  // at least one; the first decides the exit code
  std::string run_id;                // but of what is carried on
  std::string agent_file;
  std::string cwd;
  int signal = 0;                                   // but where a signal does; 0: none
  std::optional<agent::Milliseconds> timeout = {};  // --timeout, which may have ended it
  std::optional<std::chrono::steady_clock::time_point> began = {};  // errand; else no time counts
  bool color = false;
  std::optional<ComeTo> earlier = {};  // the run that would have been carried on
};

// What a signal or the deadline ends before there is a run. `doing`: what was waited for, in a part
// of a sentence.
agent::Error stop_before_run(const agent::Cancellation& cancellation,
                             std::optional<agent::Milliseconds> timeout,
                             std::string_view doing);

// Of a run that could not be opened, of which nothing is recorded; `why` is run.cancelled where its
// time, a signal or those that it works for have ended that.
agent::RunResult result_before_run(agent::Error why,
                                   const agent::Cancellation& cancellation,
                                   std::optional<agent::Milliseconds> timeout,
                                   std::chrono::steady_clock::time_point began);

// Says every error on `err`, the result on `answer`. Returns the exit code.
int end_early(const EarlyEnd& end,
              AnswerSink& answer,
              const agent::Redactor& redactor,
              std::ostream& err);

}  // namespace cli
