#include "cli/run_sinks.h"

#include "cli/terminal/terminal.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace cli {
namespace {

int verbosity_of(const Parsed& parsed) {
  return parsed.has("--quiet") ? -1 : static_cast<int>(parsed.count("--verbose"));
}

constexpr std::array<std::string_view, 6> k_outputs = {
    "--output-file", "--log-file", "--record", "--junit", "--write-baseline", "--failed"};

agent::Result<void> check_is_no_output(const Parsed& parsed,
                                       std::span<const std::string_view> options,
                                       std::string_view what,
                                       const std::string& file) {
  const auto identity = identity_of(file);
  for (const std::string_view option : options) {
    const auto other = parsed.value(option);
    if (identity && other && identity_of(*other) == identity) {
      return agent::fail(agent::Code::cli_usage,
                         fmt::format("{} and `{} {}` are the same file", what, option, *other),
                         "give each a file of its own");
    }
  }
  return {};
}

}  // namespace

agent::Result<void> check_outputs(const Parsed& parsed) {
  for (std::size_t at = 0; at < k_outputs.size(); ++at) {
    if (const auto file = parsed.value(k_outputs[at])) {
      if (*file == "-") {
        return agent::fail(agent::Code::cli_usage,
                           fmt::format("`{} -` names no file", k_outputs[at]),
                           "write /dev/stdout or /dev/stderr, or `./-` for a file of that name");
      }
      TRY(check_stays_inside(*file));
      TRY(check_is_no_output(parsed,
                             std::span(k_outputs).first(at),
                             fmt::format("`{} {}`", k_outputs[at], *file),
                             *file));
    }
  }
  return {};
}

agent::Result<void> check_is_no_output(const Parsed& parsed,
                                       std::string_view what,
                                       const std::string& file) {
  return check_is_no_output(parsed, k_outputs, what, file);
}

Format format_of(const Parsed& parsed) {
  const std::string name = parsed.value("--output").value_or("text");
  return name == "json" ? Format::json : name == "jsonl" ? Format::jsonl : Format::text;
}

agent::Result<RunOutputs> open_outputs(const Parsed& parsed,
                                       const agent::Redactor& redactor,
                                       agent::Cancellation& cancellation) {
  agent::WritePatience& patience = cancellation.patience();
  RunOutputs outputs;
  if (const auto file = parsed.value("--output-file")) {
    TRY_ASSIGN(outputs.answer, Output::to_file(*file, &patience));
  } else {
    outputs.answer = Output::to_descriptor(STDOUT_FILENO, "standard output", &patience);
  }
  if (const auto file = parsed.value("--log-file")) {
    TRY_ASSIGN(outputs.log, LogSink::open(*file, redactor, patience));
  }
  return outputs;
}

namespace {

// One that appears at the end.
void add_written(const std::optional<std::string>& file,
                 const Output& output,
                 tools::sandbox::Outputs& files) {
  if (!output.temporary().empty()) {
    files.meanwhile.push_back(std::filesystem::absolute(output.temporary()));
  }
  if (file && identity_of(*file)) {
    files.at_the_end.push_back(std::filesystem::absolute(*file));
  }
}

}  // namespace

tools::sandbox::Outputs files_written(const Parsed& parsed, const Output* failed) {
  tools::sandbox::Outputs files;
  if (failed != nullptr) {
    add_written(parsed.value("--failed"), *failed, files);
  }
  return files;
}

tools::sandbox::Outputs files_written(const Parsed& parsed, const RunOutputs& outputs) {
  tools::sandbox::Outputs files;
  for (const std::string_view option : {"--log-file", "--record"}) {
    if (const auto file = parsed.value(option); file && identity_of(*file)) {
      files.meanwhile.push_back(std::filesystem::absolute(*file));
    }
  }
  add_written(parsed.value("--output-file"), *outputs.answer, files);
  return files;
}

std::vector<agent::EventSink*> RunSinks::sinks() const {
  std::vector<agent::EventSink*> all{answer.get()};
  if (log != nullptr) {
    all.push_back(log);
  }
  all.push_back(progress.get());
  return all;
}

RunSinks open_audience(const Parsed& parsed,
                       const Context& context,
                       bool is_guarded,
                       bool is_flow,
                       const std::string& run_id,
                       const RunOutputs& outputs,
                       const agent::Redactor& redactor,
                       agent::Cancellation& cancellation) {
  RunSinks sinks{.log = outputs.log.get()};
  const Format format = format_of(parsed);
  const bool is_for_terminal =
      format == Format::text && !parsed.value("--output-file") && ::isatty(STDOUT_FILENO) == 1;
  const bool streams = is_for_terminal && !is_guarded && !is_flow;
  const bool is_set = is_for_terminal && context.color_out &&
                      Terminal::understands_escapes(STDOUT_FILENO, context.environment);
  AnswerSink::Options answer{
      .format = format, .is_for_terminal = is_for_terminal, .streams = streams, .run_id = run_id};
  if (is_set) {
    answer.columns = [] { return Terminal::columns(STDOUT_FILENO); };
  }
  sinks.answer =
      std::make_unique<AnswerSink>(std::move(answer), *outputs.answer, redactor, cancellation);
  sinks.progress = std::make_unique<Progress>(
      Progress::Options{.verbosity = verbosity_of(parsed),
                        .live = Terminal::understands_escapes(STDERR_FILENO, context.environment),
                        .color = context.color_err,
                        .shows_partial = format == Format::text,
                        .is_guarded = is_guarded,
                        .beside = streams ? sinks.answer.get() : nullptr,
                        .cancellation = &cancellation},
      redactor);
  if (streams) {
    sinks.answer->make_room_by([progress = sinks.progress.get()] { progress->make_room(); });
  }
  return sinks;
}

}  // namespace cli
