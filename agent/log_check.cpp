#include "agent/log_check.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace agent {
namespace {

// Far more tokens than a request can have, events and milliseconds than a run; few enough that
// sums do not overflow.
constexpr std::int64_t k_most = 1'000'000'000'000;

bool can_be(std::int64_t count) {
  return count >= 0 && count <= k_most;
}

std::string check_usage(const Usage& usage) {
  const auto counts = std::to_array({usage.input,
                                     usage.output,
                                     usage.cache_read,
                                     usage.cache_write,
                                     usage.reasoning,
                                     usage.cache_write_1h});
  return std::ranges::all_of(counts, can_be) ? "" : "no request has so many tokens";
}

std::string check_time(std::int64_t ms) {
  return can_be(ms) ? "" : fmt::format("no run takes {} ms", ms);
}

class Check {
 public:
  Check(const State& state, const Event* last) : state_(state), last_(last) {}

  std::string operator()(const RunStarted& started) const {
    return last_ == nullptr || started.resumes == last_->seq
               ? check_time(started.worked_ms)
               : fmt::format("a run is carried on from its last event, {}", last_->seq);
  }
  std::string operator()(const TurnStarted& turn) const { return check_turn(turn.turn); }
  std::string operator()(const ModelResponded& responded) const {
    std::string why = check_turn(responded.turn);
    return why.empty() ? check_usage(responded.reply->counted()) : why;
  }
  std::string operator()(const ModelBroken& broken) const { return check_usage(broken.counted()); }
  std::string operator()(const GuardrailRan& guardrail) const {
    return guardrail.judge ? check_usage(guardrail.judge->usage) : "";
  }
  std::string operator()(const ContextCompacted& compacted) const {
    if (!state_.open_calls.empty()) {
      return "a conversation is not made shorter while calls are open";
    }
    const bool has_results = std::ranges::all_of(compacted.results, [&](std::int64_t number) {
      return number >= 1 && std::cmp_less_equal(number, state_.results_at.size());
    });
    if (!has_results || compacted.messages < 0 ||
        std::cmp_greater(compacted.messages, state_.conversation.messages.size())) {
      return "it leaves out what was never said";
    }
    if (!can_be(compacted.before) || !can_be(compacted.after) || !can_be(compacted.window)) {
      return "no request has so many tokens";
    }
    return compacted.summarizer ? check_usage(compacted.summarizer->usage) : "";
  }
  std::string operator()(const RunFinished& finished) const {
    const RunResult& result = finished.result;
    const bool is_of_these = result.turns == state_.turns &&
                             result.tool_calls == state_.tool_calls && result.usage == state_.usage;
    return is_of_these ? check_time(result.duration_ms)
                       : "its result has other turns, calls or tokens than its events";
  }
  std::string operator()(const ToolStarted& started) const { return check_call(started.call_id); }
  std::string operator()(const ToolFinished& finished) const {
    return check_call(finished.result.call_id);
  }
  std::string operator()(const RunParked& parked) const {
    std::set<std::string_view> waiting;
    for (const ToolCall& call : state_.open_calls) {
      if (!state_.results.contains(call.id)) {
        waiting.insert(call.id);
      }
    }
    for (const ParkedCall& call : parked.calls) {
      if (!waiting.contains(call.request.call.id)) {
        return check_call(call.request.call.id);
      }
    }
    return "";
  }
  template <IsOneOf<UserSaid,
                    LimitWarning,
                    Warning,
                    ModelRequested,
                    ModelDelta,
                    ModelReset,
                    ModelRetrying,
                    ModelFallback,
                    ToolOutput,
                    ApprovalRequested,
                    ApprovalAnswered,
                    HookRan> Other>
  std::string operator()(const Other&) const {
    return "";
  }

 private:
  std::string check_turn(std::int64_t turn) const {
    return turn == state_.turns + 1
               ? ""
               : fmt::format("turn {} cannot follow turn {}", turn, state_.turns);
  }

  std::string check_call(const std::string& call_id) const {
    const auto& open = state_.open_calls;
    const bool is_open = std::ranges::find(open, call_id, &ToolCall::id) != open.end();
    return is_open && !state_.results.contains(call_id)
               ? ""
               : fmt::format("the model waits for no call `{}`", one_line(call_id, 60));
  }

  const State& state_;
  const Event* last_;
};

}  // namespace

std::string why_not_next(const State& state, const Event* last, const Event& event) {
  const bool begins = std::holds_alternative<RunStarted>(event.body);
  if (last == nullptr && (!begins || event.seq != 1)) {
    return "a run begins with run.started";
  }
  if (last != nullptr && event.run_id != last->run_id) {
    return fmt::format("this event is of another run, {}", one_line(event.run_id, 60));
  }
  if (last != nullptr && (event.seq <= last->seq || !can_be(event.seq))) {
    return fmt::format("event {} cannot follow event {}", event.seq, last->seq);
  }
  if (state.finished && !begins) {
    return "the run has ended before";
  }
  return std::visit(Check(state, last), event.body);
}

}  // namespace agent
