#include "tools/process/program_result.h"

#include "agent/duration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>
#include <utility>

namespace tools {
namespace {

using agent::Milliseconds;
using End = ProgramResult::End;

std::string_view signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "?" : name;
}

std::string timeout_text(std::string_view what, const std::optional<Milliseconds>& time) {
  return fmt::format(
      "{} {} and was stopped", what, agent::format_duration(time.value_or(Milliseconds(0))));
}

}  // namespace

Output failed_end(const ProgramResult& result, const ProgramRequest& request) {
  using agent::Code;
  const std::string program = request.argv.empty() ? "" : request.argv.front();
  Output output;
  switch (result.end) {
    case End::exited:
      output = failure(Code::tool_failed,
                       fmt::format("`{}` ended with exit status {}", program, result.exit_status));
      output.exit_status = result.exit_status;
      break;
    case End::signalled:
      output = failure(
          Code::tool_failed,
          fmt::format("ended by signal {} (SIG{})", result.signal, signal_name(result.signal)));
      output.exit_status = 128 + result.signal;
      if (result.is_out_of_memory) {
        output.message += ": its processes together needed more memory than the sandbox allows";
        output.suggestion = "Do it in smaller parts, or with fewer processes at the same time.";
      }
      break;
    case End::timed_out:
      output = failure(Code::tool_timeout,
                       timeout_text("ran longer than", request.timeout),
                       "Do less in one call, or run it so that it ends by itself.");
      break;
    case End::idle:
      output = failure(Code::tool_timeout,
                       timeout_text("wrote nothing for", request.idle_timeout),
                       "It may have waited for input, which it cannot get: use its options "
                       "for running without questions.");
      break;
    case End::cancelled:
      output = failure(Code::tool_cancelled, "stopped before it ended");
      break;
    case End::not_started:
    case End::lost:
      output = failure(Code::tool_failed, result.message);
      break;
  }
  if (!result.violations.empty()) {
    output = failure(Code::sandbox_violation,
                     fmt::format("it changed what tools must not change: {}; that was put back",
                                 fmt::join(result.violations, ", ")),
                     "Leave these files alone; say what you want changed in them.");
    output.exit_status = result.exit_status;
  }
  if (result.survivors > 0) {
    output.message += fmt::format("; {} of its processes could not be ended", result.survivors);
  }
  return output;
}

void tell_refused(std::string& text, const ProgramResult& result) {
  if (!result.refused.empty()) {
    append_line(text,
                fmt::format("[refused: {}; the sandbox allows no connection there]",
                            fmt::join(result.refused, ", ")));
  }
}

void append_line(std::string& text, std::string_view line) {
  if (!text.empty() && text.back() != '\n') {
    text += '\n';
  }
  text += line;
}

void put_text(Output& output, Captured captured) {
  output.text = std::move(captured.text);
  if (captured.is_whole) {
    return;
  }
  output.spill_path = std::move(captured.spill_path);
  output.total_bytes = captured.total_bytes;
  if (captured.lost_bytes > 0) {
    append_line(
        output.text,
        fmt::format("[{} bytes of the output could not be kept in a file]", captured.lost_bytes));
  }
}

}  // namespace tools
