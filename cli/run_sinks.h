// Everything that shows a run: stdout, stderr, the log file.
#pragma once
#include "agent/cancellation.h"
#include "agent/event.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "cli/commands/commands.h"
#include "cli/output.h"
#include "cli/terminal/answer_sink.h"
#include "cli/terminal/log_sink.h"
#include "cli/terminal/progress.h"

#include <memory>
#include <vector>

namespace cli {

struct RunSinks {
  std::unique_ptr<Output> output;
  std::unique_ptr<AnswerSink> answer;
  std::unique_ptr<LogSink> log;  // null: none was asked for
  std::unique_ptr<Progress> progress;

  std::vector<agent::EventSink*> sinks() const;  // the answer first
};

// As the options say. `is_guarded`: nothing of an answer may be shown before it is whole. Errors:
// cli.cannot_create. Starts a thread: signals are blocked before.
agent::Result<RunSinks> open_audience(const Parsed& parsed,
                                      const Context& context,
                                      bool is_guarded,
                                      const agent::Redactor& redactor,
                                      agent::Cancellation& cancellation);

}  // namespace cli
