#include "cli/serve/run_progress.h"

#include "cli/terminal/event_lines.h"

#include <fmt/format.h>

#include <variant>

namespace cli {
namespace {

constexpr std::chrono::seconds k_at_most_every{1};

}  // namespace

void RunProgress::on(const agent::Event& event) {
  const agent::EventBody& body = event.body;
  if (const auto* turn = std::get_if<agent::TurnStarted>(&body)) {
    say(event, fmt::format("turn {}", turn->turn));
  } else if (const auto* call = std::get_if<agent::ToolStarted>(&body)) {
    say(event, fmt::format("calls {}", name_of(call->name)));
  } else if (const auto* retry = std::get_if<agent::ModelRetrying>(&body)) {
    say(event, retry_line(*retry));
  } else if (const auto* fallback = std::get_if<agent::ModelFallback>(&body)) {
    say(event, fallback_line(*fallback));
  } else if (const auto* compacted = std::get_if<agent::ContextCompacted>(&body)) {
    say(event, compacted_line(*compacted));
  } else if (const auto* warning = std::get_if<agent::Warning>(&body)) {
    warn_(*warning);
  } else if (std::holds_alternative<agent::ModelDelta>(body)) {
    say_now_and_then(event, "the model answers");
  } else if (std::holds_alternative<agent::ToolOutput>(body)) {
    say_now_and_then(event, "a tool is at work");
  }
}

void RunProgress::say(const agent::Event& event, const std::string& line) {
  last_ = event.time;
  progress_(line);
}

void RunProgress::say_now_and_then(const agent::Event& event, const std::string& line) {
  if (event.time - last_ >= k_at_most_every) {
    say(event, line);
  }
}

}  // namespace cli
