#include "agent/log_fold.h"

#include "agent/sha256.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace agent {
namespace {

// Of tokens; events and milliseconds are fewer.
bool can_be(std::int64_t count) {
  return count >= 0 && count <= k_most_tokens;
}

std::string check_usage(const Usage& usage) {
  const auto can_each_be = [&](const UsageCount& one) { return can_be(usage.*one.count); };
  return std::ranges::all_of(k_usage_counts, can_each_be) ? "" : "no request has so many tokens";
}

std::string check_time(std::int64_t ms) {
  return can_be(ms) ? "" : fmt::format("no run takes {} ms", ms);
}

// Of a call as the model made it. What a secret was taken out of is another text.
bool has_its_sum(const ToolCall& call) {
  return call.arguments_sha256.empty() || call.arguments.contains(k_redacted) ||
         call.arguments_sha256 == sha256_hex(as_recorded(call.arguments));
}

// An event's own words, beside what the events before it have led to.
class Check {
 public:
  Check(const State& state,
        std::int64_t seq,
        std::int64_t turn,
        const std::map<std::string, std::string, std::less<>>& waiting)
      : state_(state), seq_(seq), turn_(turn), waiting_(waiting) {}

  std::string operator()(const RunStarted& started) const {
    return seq_ == 0 || started.resumes == seq_
               ? check_time(started.worked_ms)
               : fmt::format("a run is carried on from its last event, {}", seq_);
  }
  std::string operator()(const TurnStarted& turn) const {
    // The results of one turn are what the next one is asked with.
    return waiting_.empty() ? check_turn(turn.turn)
                            : fmt::format("turn {} has begun while the call `{}` has no result",
                                          turn.turn,
                                          one_line(waiting_.begin()->first, 60));
  }
  std::string operator()(const ModelResponded& responded) const {
    if (responded.turn != turn_) {
      return fmt::format("turn {} has not begun", responded.turn);
    }
    std::set<std::string_view> ids;
    for (const ToolCall& call : responded.reply->tool_calls) {
      if (!has_its_sum(call)) {
        return fmt::format("the arguments of the call `{}` are not those that the model gave it",
                           one_line(call.id, 60));
      }
      if (!ids.insert(call.id).second) {
        return fmt::format(
            "two calls of its reply have the id `{}`, so that nobody can tell their "
            "results apart",
            one_line(call.id, 60));
      }
    }
    return check_turn(turn_);
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
    const auto counts = {compacted.before, compacted.after, compacted.window};
    return std::ranges::all_of(counts, can_be) ? "" : "no request has so many tokens";
  }
  std::string operator()(const RunFinished& finished) const {
    const RunResult& result = finished.result;
    const bool is_of_these = result.turns == state_.turns &&
                             result.tool_calls == state_.tool_calls && result.usage == state_.usage;
    return is_of_these ? check_time(result.duration_ms)
                       : "its result has other turns, calls or tokens than its events";
  }
  std::string operator()(const ToolStarted& started) const {
    return check_call(started.call_id, started.arguments_sha256);
  }
  std::string operator()(const ApprovalRequested& asked) const {
    const ToolCall& call = asked.request.call;
    return waiting_.contains(call.id) ? check_call(call.id, call.arguments_sha256) : "";
  }
  std::string operator()(const ToolFinished& finished) const {
    return check_call(finished.result.call_id);
  }
  std::string operator()(const ToolsAdded& added) const {
    return std::ranges::all_of(added.tools, can_be, &AddedTool::bytes)
               ? ""
               : "no tool has so many bytes";
  }
  std::string operator()(const RunParked& parked) const {
    for (const ParkedCall& call : parked.calls) {
      const ToolCall& asked = call.request.call;
      if (std::string why = check_call(asked.id, asked.arguments_sha256); !why.empty()) {
        return why;
      }
    }
    return "";
  }
  std::string operator()(const MemberStarted& member) const {
    return member.call_id.empty() ? "" : check_call(member.call_id);
  }
  std::string operator()(const MemberFinished& finished) const {
    // What it had used may become known later.
    const auto has_it = [&](const auto& entry) {
      return entry.first.second == finished.call_id &&
             entry.second.number == finished.item.value_or(0) && entry.second.record.finished;
    };
    const bool is_known =
        finished.call_id.empty() || std::ranges::any_of(state_.sub_agents, has_it);
    std::string why = is_known ? "" : check_call(finished.call_id);
    why = why.empty() ? check_usage(finished.result.usage) : why;
    return why.empty() ? check_time(finished.result.duration_ms) : why;
  }
  template <IsOneOf<UserSaid,
                    LimitWarning,
                    Warning,
                    ModelRequested,
                    ModelDelta,
                    ModelBroken,
                    ModelReset,
                    ModelRetrying,
                    ModelFallback,
                    ToolOutput,
                    ApprovalAnswered,
                    HookRan,
                    GuardrailRan,
                    CheckRan> Other>
  std::string operator()(const Other&) const {
    return "";
  }

 private:
  std::string check_turn(std::int64_t turn) const {
    return turn == state_.turns + 1
               ? ""
               : fmt::format("turn {} cannot follow turn {}", turn, state_.turns);
  }

  // A call is told of with the sum of what the model gave it, whoever has changed it since.
  std::string check_call(const std::string& call_id, std::string_view sum = "") const {
    const auto waiting = waiting_.find(call_id);
    if (waiting == waiting_.end()) {
      return fmt::format("the model waits for no call `{}`", one_line(call_id, 60));
    }
    return sum.empty() || waiting->second.empty() || sum == waiting->second
               ? ""
               : fmt::format("the model gave the call `{}` other arguments", one_line(call_id, 60));
  }

  const State& state_;
  std::int64_t seq_;
  std::int64_t turn_;
  const std::map<std::string, std::string, std::less<>>& waiting_;
};

}  // namespace

std::string LogFold::why_not_next(const Event& event) const {
  const bool is_first = run_id_.empty();
  const bool begins = std::holds_alternative<RunStarted>(event.body);
  if (is_first && (!begins || event.seq != 1)) {
    return "a run begins with run.started";
  }
  if (!is_first && event.run_id != run_id_) {
    return fmt::format("this event is of another run, {}", one_line(event.run_id, 60));
  }
  if (event.seq <= seq_ || !can_be(event.seq)) {
    return fmt::format("event {} cannot follow event {}", event.seq, seq_);
  }
  // One whose answer nobody could take has its true ending behind the first one.
  if (state_.finished && !begins && !std::holds_alternative<RunFinished>(event.body)) {
    return "the run has ended before";
  }
  if (const auto use = use_in(event.body)) {
    if (std::string why = check_usage(use->usage); !why.empty()) {
      return why;
    }
  }
  return std::visit(Check(state_, seq_, turn_, waiting_), event.body);
}

std::string LogFold::add(const Event& event) {
  std::string why = why_not_next(event);
  if (!why.empty()) {
    return why;
  }
  run_id_ = event.run_id;
  seq_ = event.seq;
  advance(state_, event.body);
  if (const auto* turn = std::get_if<TurnStarted>(&event.body)) {
    turn_ = turn->turn;
  } else if (const auto* finished = std::get_if<ToolFinished>(&event.body)) {
    waiting_.erase(finished->result.call_id);
  } else if (std::holds_alternative<ModelResponded>(event.body)) {
    waiting_.clear();
    for (const ToolCall& call : state_.open_calls) {
      waiting_.emplace(call.id, call.arguments_sha256);
    }
  }
  return why;
}

}  // namespace agent
