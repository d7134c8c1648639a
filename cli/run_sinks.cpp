#include "cli/run_sinks.h"

#include <string>
#include <unistd.h>

namespace cli {
namespace {

Format format_of(const Parsed& parsed) {
  const std::string name = parsed.value("--output").value_or("text");
  return name == "json" ? Format::json : name == "jsonl" ? Format::jsonl : Format::text;
}

int verbosity_of(const Parsed& parsed) {
  return parsed.has("--quiet") ? -1 : static_cast<int>(parsed.count("--verbose"));
}

bool is_smart_terminal(int descriptor, const agent::Environment& environment) {
  const auto term = environment.find("TERM");
  return ::isatty(descriptor) == 1 && term != environment.end() && term->second != "dumb";
}

}  // namespace

std::vector<agent::EventSink*> RunSinks::sinks() const {
  std::vector<agent::EventSink*> all{answer.get()};
  if (log) {
    all.push_back(log.get());
  }
  all.push_back(progress.get());
  return all;
}

agent::Result<RunSinks> open_audience(const Parsed& parsed,
                                      const Context& context,
                                      bool is_guarded,
                                      const agent::Redactor& redactor,
                                      agent::Cancellation& cancellation) {
  RunSinks sinks;
  const auto file = parsed.value("--output-file");
  if (file) {
    TRY_ASSIGN(sinks.output, Output::to_file(*file));
  } else {
    sinks.output = Output::to_descriptor(STDOUT_FILENO, "standard output");
  }
  const Format format = format_of(parsed);
  const bool streams =
      format == Format::text && !file && !is_guarded && ::isatty(STDOUT_FILENO) == 1;
  sinks.answer =
      std::make_unique<AnswerSink>(AnswerSink::Options{.format = format, .streams = streams},
                                   *sinks.output,
                                   redactor,
                                   cancellation);
  if (const auto log = parsed.value("--log-file")) {
    TRY_ASSIGN(sinks.log, LogSink::open(*log, redactor));
  }
  sinks.progress = std::make_unique<Progress>(
      Progress::Options{.verbosity = verbosity_of(parsed),
                        .live = is_smart_terminal(STDERR_FILENO, context.environment),
                        .color = context.color_err,
                        .shows_partial = format == Format::text,
                        .beside = streams ? sinks.answer.get() : nullptr},
      redactor);
  if (streams) {
    sinks.answer->make_room_by([progress = sinks.progress.get()] { progress->make_room(); });
  }
  return sinks;
}

}  // namespace cli
