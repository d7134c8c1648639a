#include "tools/process/program_result.h"

#include "agent/duration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace tools {
namespace {

using agent::Milliseconds;
using End = ProgramResult::End;
using sandbox::ProtectedChange;

std::string_view signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "?" : name;
}

std::string timeout_text(std::string_view what, const std::optional<Milliseconds>& time) {
  return fmt::format(
      "{} {} and was stopped", what, agent::format_duration(time.value_or(Milliseconds(0))));
}

std::vector<std::string> described(const std::vector<ProtectedChange>& changes) {
  std::vector<std::string> texts;
  for (const ProtectedChange& change : changes) {
    if (change.outcome != ProtectedChange::Outcome::noticed) {
      texts.push_back(change_text(change));
    }
  }
  return texts;
}

}  // namespace

std::string change_text(const sandbox::ProtectedChange& change) {
  const std::string found =
      change.found_as.empty()
          ? ""
          : fmt::format(" (what it had become is `{}` now)", change.found_as.string());
  switch (change.outcome) {
    case ProtectedChange::Outcome::put_back:
      return fmt::format("`{}` was put back{}", change.path.string(), found);
    case ProtectedChange::Outcome::moved_aside:
      return fmt::format(
          "`{}` is called `{}` now", change.path.string(), change.found_as.filename().string());
    case ProtectedChange::Outcome::stays:
      return fmt::format("`{}` could not be put back{}", change.path.string(), found);
    case ProtectedChange::Outcome::noticed:
      return fmt::format("the objects, refs or index of `{}` have changed", change.path.string());
  }
  std::unreachable();
}

std::optional<agent::Code> end_with(const sandbox::ProtectedChange& change) {
  return change.outcome == ProtectedChange::Outcome::stays
             ? std::optional(agent::Code::sandbox_violation)
             : std::nullopt;
}

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
      output = failure(result.is_shortage ? Code::os_failed : Code::tool_failed, result.message);
      break;
  }
  if (result.has_violations()) {
    const auto exit_status = output.exit_status;
    output = failure(Code::sandbox_violation,
                     fmt::format("it{} changed what git or errand obey: {}",
                                 result.was_alone ? "" : ", or what was at work beside it,",
                                 fmt::join(described(result.changes), ", ")),
                     "Leave these files alone; say what you want changed in them.");
    output.exit_status = exit_status;
    output.is_fatal = std::ranges::any_of(
        result.changes, [](const ProtectedChange& change) { return end_with(change).has_value(); });
  } else if (result.unseen) {
    output = failure(result.unseen->code, result.unseen->message, result.unseen->help);
  }
  output.is_fatal = output.is_fatal || result.unseen;
  if (result.survivors > 0) {
    output.message += fmt::format("; {} of its processes could not be ended", result.survivors);
  }
  return output;
}

void tell_notes(std::string& text, const ProgramResult& result) {
  for (const ProtectedChange& change : result.changes) {
    if (change.outcome == ProtectedChange::Outcome::noticed) {
      append_line(text, fmt::format("[{}]", change_text(change)));
    }
  }
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
