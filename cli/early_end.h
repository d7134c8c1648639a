// Endings before the first request: a bad option, a bad agent file, no key. They have a result
// object too, in the format that was asked for.
#pragma once
#include "agent/error.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "cli/terminal/answer_sink.h"

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace cli {

struct EarlyEnd {
  std::vector<agent::Error> errors;  // at least one; the first decides the exit code
  std::string run_id;
  std::string agent_file;
  std::string cwd;
  int signal = 0;                                   // but where a signal does; 0: none
  std::optional<agent::Milliseconds> timeout = {};  // --timeout, which may have ended it
  std::optional<std::chrono::steady_clock::time_point> began = {};  // errand; else no time counts
  bool color = false;
};

// Says every error on `err`, the result on `answer`. Returns the exit code.
int end_early(const EarlyEnd& end,
              AnswerSink& answer,
              const agent::Redactor& redactor,
              std::ostream& err);

}  // namespace cli
