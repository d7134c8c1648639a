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
#include "tools/sandbox/policy.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace cli {

// Where the options say that a run is to be written; opened before anything else is done, so that
// nothing is paid for what cannot be kept.
struct RunOutputs {
  std::unique_ptr<Output> answer;
  std::unique_ptr<LogSink> log;  // null: none was asked for
};

// cli.cannot_create.
agent::Result<RunOutputs> open_outputs(const Parsed& parsed,
                                       const agent::Redactor& redactor,
                                       agent::Cancellation& cancellation);

// cli.usage where one of the options that name files to write is `-`, which some would take for
// standard output and some for a file, or where two name one file: it would lose one of
// them; cli.cannot_create where one leads out of the working folder by a link. The second: where
// `what` is to be written to one of these.
agent::Result<void> check_outputs(const Parsed& parsed);
agent::Result<void> check_is_no_output(const Parsed& parsed,
                                       std::string_view what,
                                       const std::string& file);

// The files that are written while the run goes on, where programs could reach them by a name, and
// those that get their name at the end: absolute.
tools::sandbox::Outputs files_written(const Parsed& parsed, const RunOutputs& outputs);
// Those of a batch; `failed` may be null.
tools::sandbox::Outputs files_written(const Parsed& parsed, const Output* failed);

Format format_of(const Parsed& parsed);

struct RunSinks {
  std::unique_ptr<AnswerSink> answer;
  LogSink* log = nullptr;  // may be null
  std::unique_ptr<Progress> progress;

  std::vector<agent::EventSink*> sinks() const;  // the answer first
};

// As the options say; all but them is borrowed. `is_guarded`: nothing of an answer may be shown
// before it is whole. `run_id`: of whose members there may be events, too.
// Starts a thread: signals are blocked before.
RunSinks open_audience(const Parsed& parsed,
                       const Context& context,
                       bool is_guarded,
                       bool is_flow,
                       const std::string& run_id,
                       const RunOutputs& outputs,
                       const agent::Redactor& redactor,
                       agent::Cancellation& cancellation);

}  // namespace cli
