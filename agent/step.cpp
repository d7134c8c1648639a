#include "agent/step.h"

#include "agent/compaction.h"
#include "agent/json.h"
#include "agent/refusal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace agent {
namespace {

constexpr int k_max_pauses = 20;
constexpr std::int64_t k_shares = 5;  // of a limit; before the last one there is a warning

constexpr std::string_view k_continue =
    "Your last answer was cut off by the output limit. Continue exactly where it stopped; do not "
    "repeat anything. Tool calls in it were not run: make them again, with less output in each.";
constexpr std::string_view k_say_something =
    "Your last answer was empty. Give your final answer, or make the next tool call.";
constexpr std::string_view k_go_on =
    "That was not the last turn: there is more room now, and tools can be called again. Go on with "
    "the task.";
constexpr std::string_view k_no_tools_now =
    "the answer is to be corrected, and no tool can be called";
constexpr std::string_view k_call_again =
    "Your last tool call was malformed and was not run. Make the call again with valid JSON "
    "arguments, or answer without it.";

Ending failed(Code code, std::string message, std::string help = {}) {
  return {.error = Error{.code = code, .message = std::move(message), .help = std::move(help)}};
}

// The next calls without a result, up to the first that may be a repeat too many: what comes of
// those before it decides whether it runs at all.
std::span<const ToolCall> next_calls(const State& state) {
  const std::span unsettled = state.open_calls.subspan(state.settled_calls);
  const auto max = state.plan.limits.max_repeat_calls;
  const auto left = max ? std::optional(*max - state.most_repeats) : std::nullopt;
  const bool may_be_too_many = left && static_cast<std::int64_t>(unsettled.size()) > *left;
  std::map<std::pair<std::string_view, std::string>, std::int64_t> equal;
  std::size_t begin = 0;
  std::size_t end = 0;
  for (const ToolCall& call : unsettled) {
    if (may_be_too_many && !state.plan.repeatable_tools.contains(call.name) &&
        ++equal[{call.name, canonical_text(call.arguments)}] > *left) {
      break;
    }
    const bool has_result = state.results.contains(call.id);
    if (has_result && begin < end) {
      break;
    }
    ++end;
    begin = has_result ? end : begin;
  }
  return unsettled.subspan(begin, end - begin);
}

Step tools_or_limit(const State& state, std::span<const ToolCall> calls) {
  if (const auto max = state.plan.limits.max_tool_calls) {
    const std::int64_t left = *max - state.tool_calls;
    if (left <= 0) {
      return Finish{stopped_at(Code::run_tool_call_limit,
                               static_cast<double>(state.tool_calls),
                               static_cast<double>(*max),
                               fmt::format("the run used all of its {} tool calls", *max))};
    }
    if (std::cmp_greater(calls.size(), left)) {
      calls = calls.first(static_cast<std::size_t>(left));
    }
  }
  return RunTools{calls};
}

bool has_called(const State& state) {
  return lets_calls_run(state.stop_reason) && !state.last_reply->tool_calls.empty();
}

// Why the answer is not what `output.schema` says: a line for each place. Empty: it is.
struct Misfit {
  std::string summary;
  std::vector<std::string> lines;
};

Misfit misfit_of(const State& state) {
  if (state.output == nullptr) {
    return {};
  }
  const auto json = parse_json(*state.answer);
  if (!json) {
    const std::string why = why_not_json(*state.answer);
    std::string summary = why == "is not valid JSON"
                              ? "the answer is not JSON, which `output.schema` demands"
                              : "the JSON of the answer " + why;
    return {.summary = summary, .lines = {std::move(summary)}};
  }
  Misfit misfit;
  for (const auto& [pointer, message, is_type] : state.output->check(*json)) {
    misfit.lines.push_back(fmt::format("{} {}", pointer.empty() ? "it" : pointer, message));
  }
  if (!misfit.lines.empty()) {
    const std::size_t more = misfit.lines.size() - 1;
    misfit.summary = fmt::format("the answer does not fit `output.schema`: {}{}",
                                 misfit.lines.front(),
                                 more > 0 ? fmt::format(" (and {} more)", more) : "");
  }
  return misfit;
}

// How it ends the run as it is: nothing comes of it any more.
Ending ending_of_text(const State& state) {
  if (state.answer == nullptr) {
    return {};
  }
  const Misfit misfit = misfit_of(state);
  return misfit.lines.empty() ? Ending{} : failed(Code::output_invalid, misfit.summary);
}

// The other agent's ending is the run's; guardrails may have changed what it said.
Ending ended_after_handoff(const State& state, const RunResult& other) {
  if (other.exit_code == 0) {
    return ending_of_text(state);
  }
  if (other.exit_code == exit_code(Error{.code = Code::run_task_failed})) {
    return failed(Code::run_task_failed, state.answer != nullptr ? *state.answer : std::string());
  }
  return {.error = other.error, .stop = other.stop};
}

Ending ended_by_tool(const State& state) {
  const ToolResult& result = *state.ending_result;
  if (const MemberFinished* other = ended_after_handoff(state)) {
    return ended_after_handoff(state, other->result);
  }
  if (result.task_failed) {  // with what guardrails have left of the reason
    return failed(Code::run_task_failed, state.answer != nullptr ? *state.answer : std::string());
  }
  const Code code = result.code.value_or(Code::tool_failed);
  if (!exit_row(row(code).exit_code).setting.empty()) {
    Ending ending = stopped_at(code, 0, 0, result.message);
    ending.error->help = result.help;
    ending.stop->detail += result.help.empty() ? "" : "; " + result.help;
    return ending;
  }
  const MemberRecord* const member = member_of_call(state, result.call_id);
  if (code == Code::run_declined || (member != nullptr && code != Code::team_member_failed)) {
    return failed(code, result.message);
  }
  // What could not be undone, or not even looked at, ends a run that nobody has declared to end so.
  const bool ends_any_run = code == Code::sandbox_violation || code == Code::os_failed;
  Ending ending =
      failed(code,
             fmt::format("the tool `{}`{}: {}",
                         result.name,
                         ends_any_run ? " ended the run" : ", declared `on_error: fatal`, failed",
                         result.message));
  if (member != nullptr && member->finished && member->finished->result.error) {
    ending.error->cause = cause_of(*member->finished->result.error);
  }
  return ending;
}

// The model corrects its answer, as long as it may.
Step repair(const State& state, const Misfit& misfit) {
  if (state.repairs >= state.plan.repair_attempts) {
    return Finish{failed(
        Code::output_invalid,
        state.repairs == 0
            ? misfit.summary
            : fmt::format("{}; it was sent back {}",
                          misfit.summary,
                          state.repairs == 1 ? "once" : fmt::format("{} times", state.repairs)))};
  }
  return Say{
      {.text = fmt::format("Your answer is not what is demanded:\n- {}\nGive the whole answer "
                           "again, corrected: only the JSON, and no tool calls.",
                           fmt::join(misfit.lines, "\n- ")),
       .reason = "output_invalid"}};
}

std::string why_failed(const CheckRan& check) {
  return !check.reason.empty() ? check.reason
                               : fmt::format("exit status {}", check.exit_status.value_or(0));
}

// Whether the same checks have failed in the same way; how long they took is nothing of it.
bool are_equal(const std::vector<CheckRan>& left, const std::vector<CheckRan>& right) {
  return std::ranges::equal(left, right, [](const CheckRan& one, const CheckRan& other) {
    return one.check == other.check && one.exit_status == other.exit_status &&
           one.timed_out == other.timed_out && one.reason == other.reason &&
           one.output == other.output;
  });
}

Ending checks_failed(const CheckRan& first, std::string_view how, std::size_t count) {
  return failed(Code::run_checks_failed,
                fmt::format("the check `{}` {}: {}{}",
                            first.check,
                            how,
                            why_failed(first),
                            count > 1 ? fmt::format(" (and {} more)", count - 1) : ""));
}

// The next check; or what comes of them, where all have run.
Step judge_work(const State& state) {
  if (state.checks.size() < state.plan.checks.size()) {
    return RunCheck{.index = state.checks.size(), .attempt = state.failed_rounds + 1};
  }
  std::vector<CheckRan> failures;
  std::ranges::copy_if(state.checks, std::back_inserter(failures), [](const CheckRan& check) {
    return !check.passed;
  });
  if (failures.empty()) {
    return Finish{};
  }
  if (are_equal(failures, state.failed_before)) {
    return Finish{
        checks_failed(failures.front(), "failed twice in a row in the same way", failures.size())};
  }
  const int rounds = state.failed_rounds + 1;
  if (rounds >= state.plan.check_attempts) {
    return Finish{
        checks_failed(failures.front(),
                      rounds == 1 ? "failed" : fmt::format("still fails after {} attempts", rounds),
                      failures.size())};
  }
  return SendBack{std::move(failures)};
}

// What an answer means that is there as a whole.
Step judge_answer(const State& state) {
  const Misfit misfit = misfit_of(state);
  return misfit.lines.empty() ? judge_work(state) : repair(state, misfit);
}

// The answer is as long as the window had room for.
Step cut_by_window(const State& state) {
  if (state.unfinished.cut < 2) {
    if (state.overflows > 0) {
      return Say{{.text = std::string(k_continue), .reason = "truncated"}};
    }
    if (auto plan = compaction_after_overflow(state)) {
      return Compact{*std::move(plan)};
    }
  }
  return Finish{
      failed(Code::context_overflow, "the conversation no longer fits the model's context")};
}

// What a reply without tool calls means.
Step judge(const State& state) {
  switch (state.stop_reason) {
    case StopReason::max_tokens:
      if (state.unfinished.cut > 1) {
        return Finish{failed(Code::output_truncated,
                             "the answer was cut by the output-token limit, and again after it "
                             "was asked to go on")};
      }
      return Say{{.text = std::string(k_continue), .reason = "truncated"}};
    case StopReason::refusal:
    case StopReason::content_filter:
    case StopReason::guardrail_intervened:
      return Finish{
          failed(Code::provider_refused,
                 fmt::format("the model gave no answer: {}", to_string(state.stop_reason)))};
    case StopReason::context_window:
      return cut_by_window(state);
    case StopReason::malformed_tool_call:
      if (state.unfinished.malformed > 1) {
        return Finish{
            failed(Code::provider_bad_response, "the model's tool calls were malformed twice")};
      }
      return Say{{.text = std::string(k_call_again), .reason = "malformed_tool_call"}};
    case StopReason::tool_use:
      if (has_called(state)) {
        break;
      }
      if (state.unfinished.malformed > 1) {
        return Finish{failed(Code::provider_bad_response,
                             "the model said twice that it calls a tool, and called none")};
      }
      return Say{{.text = std::string(k_call_again), .reason = "malformed_tool_call"}};
    case StopReason::error:
      return Finish{
          failed(Code::provider_stream_broken, "the server ended the answer before it was whole")};
    case StopReason::pause:
      if (state.unfinished.paused > k_max_pauses) {
        return Finish{failed(
            Code::provider_bad_response,
            fmt::format("the provider paused the answer {} times", state.unfinished.paused))};
      }
      return AskModel{};
    case StopReason::end_turn:
    case StopReason::stop_sequence:
    case StopReason::unknown:
      break;
  }
  if (has_called(state)) {  // where it was to correct its answer
    return repair(state,
                  {.summary = "the model called a tool where it had to correct its answer",
                   .lines = {"no tool can be called now"}});
  }
  if (lacks_its_rest(state)) {
    return Finish{failed(Code::output_truncated,
                         "the answer was cut, and nothing came when it was asked to go on")};
  }
  if (state.answer != nullptr && !state.answer_goes_on) {
    return judge_answer(state);
  }
  if (state.unfinished.empty > 1) {
    return Finish{failed(Code::output_empty, "the model ended its turn twice without an answer")};
  }
  return Say{{.text = std::string(k_say_something), .reason = "empty"}};
}

// Also what no event tells of yet.
Spending with_unrecorded(const Spending& spent, const Asking& asking) {
  return {.tokens = spent.tokens + asking.unrecorded.usage.total(),
          .cost = sum_of(spent.cost, asking.unrecorded.cost)};
}

std::optional<Ending> token_limit(const Spending& spent,
                                  std::int64_t input,
                                  std::int64_t max,
                                  std::string_view by) {
  const auto stopped = [&](std::string message) {
    return stopped_at(Code::run_token_budget,
                      static_cast<double>(spent.tokens),
                      static_cast<double>(max),
                      std::move(message));
  };
  if (spent.tokens >= max) {
    return stopped(fmt::format("{} of {} tokens are used{}", spent.tokens, max, by));
  }
  if (spent.tokens + input >= max) {
    return stopped(
        fmt::format("{} of {} tokens are used{}, and the next request alone needs about {}",
                    spent.tokens,
                    max,
                    by,
                    input));
  }
  return std::nullopt;
}

std::optional<Ending> cost_limit(std::optional<Money> spent,
                                 const Asking& asking,
                                 Money max,
                                 std::string_view by) {
  const auto stopped = [&](std::string message) {
    return stopped_at(
        Code::run_cost_budget, spent.value_or(max).dollars(), max.dollars(), std::move(message));
  };
  if (!spent) {
    return stopped("what the last answer cost is unknown, so that the limit cannot be enforced");
  }
  if (*spent >= max) {
    return stopped(fmt::format("{} of {} are spent{}", format_money(spent), format_money(max), by));
  }
  const auto price = asking.prices.find(asking.model);
  if (price == asking.prices.end()) {
    return std::nullopt;
  }
  const Money input = input_cost(price->second, asking.input);
  if (input > max - *spent || affordable_output(price->second, max - *spent, asking.input) == 0) {
    return stopped(fmt::format("{} of {} are spent{}, and the next request alone costs about {}",
                               format_money(spent),
                               format_money(max),
                               by,
                               format_money(input)));
  }
  return std::nullopt;
}

// How many tokens of an answer the money that is left pays for, whichever of the models gives it;
// nullopt: any number. One that the money does not even pay one token of is left out: when its turn
// comes, the limit keeps the run from asking it.
std::optional<std::int64_t> affordable_tokens(const Asking& asking, Money left) {
  std::optional<std::int64_t> least;
  for (const auto& [model, price] : asking.prices) {
    const auto tokens = affordable_output(price, left, asking.input);
    if (tokens && *tokens > 0) {
      least = std::min(*tokens, least.value_or(*tokens));
    }
  }
  return least;
}

Spending spent_by(const State& state) {
  return {.tokens = state.usage.total(), .cost = state.cost};
}

// The room of an ordinary turn, which leaves a share for the last one.
std::expected<std::optional<std::int64_t>, Ending> room_before_the_share(const State& state) {
  const Limits limits = before_the_share(state.plan.limits);
  return room_within(limits, spent_by(state), next_request(state), {});
}

// The limit of which the next turn would use the kept share.
std::optional<Code> nearly_used_up(const State& state) {
  const auto max_turns = state.plan.limits.max_turns;
  if (max_turns && *max_turns > 1 && state.turns >= *max_turns - 1) {
    return Code::run_max_turns;
  }
  const auto room = room_before_the_share(state);
  return room ? std::nullopt : std::optional(room.error().error->code);
}

// The last turn is over, whatever the model has made of it.
Ending ended_by_limit(const State& state) {
  const Limits& limits = state.plan.limits;
  const Code code = *state.wrap_up;
  double used = 0;  // of the time, the loop knows it
  double max = 0;
  if (code == Code::run_max_turns) {
    used = static_cast<double>(state.turns);
    max = static_cast<double>(limits.max_turns.value_or(0));
  } else if (code == Code::run_token_budget) {
    used = static_cast<double>(state.usage.total());
    max = static_cast<double>(limits.max_total_tokens.value_or(0));
  } else if (code == Code::run_cost_budget) {
    used = state.cost.value_or(Money{}).dollars();
    max = limits.max_cost_usd.value_or(Money{}).dollars();
  }
  return stopped_at(code,
                    used,
                    max,
                    fmt::format("the last turn, which `limits.wrap_up` keeps of `{}`, is over",
                                exit_row(row(code).exit_code).setting));
}

std::optional<Ending> turn_limit(const State& state) {
  const auto max = state.plan.limits.max_turns;
  if (!max || state.turns < *max) {
    return std::nullopt;
  }
  return stopped_at(
      Code::run_max_turns,
      static_cast<double>(state.turns),
      static_cast<double>(*max),
      fmt::format("no answer after {} turn{}", state.turns, state.turns == 1 ? "" : "s"));
}

// Whether four fifths of a limit are used, for the first time; a small one is not worth a warning.
bool is_news(const State& state, const char* limit, std::int64_t used, std::int64_t max) {
  return max >= k_shares && used >= max - max / k_shares && !state.warned_limits.contains(limit);
}

std::optional<LimitWarning> near_a_limit(const State& state) {
  const Limits& limits = state.plan.limits;
  const auto near = [&](const char* name,
                        std::int64_t used,
                        std::optional<std::int64_t> max) -> std::optional<LimitWarning> {
    if (!max || !is_news(state, name, used, *max)) {
      return std::nullopt;
    }
    return LimitWarning{
        .limit = name, .used = static_cast<double>(used), .max = static_cast<double>(*max)};
  };
  if (auto warning = near("limits.max_turns", state.turns, limits.max_turns)) {
    return warning;
  }
  if (auto warning = near("limits.max_tool_calls", state.tool_calls, limits.max_tool_calls)) {
    return warning;
  }
  if (auto warning =
          near("limits.max_total_tokens", state.usage.total(), limits.max_total_tokens)) {
    return warning;
  }
  constexpr const char* k_cost = "limits.max_cost_usd";
  const auto max = limits.max_cost_usd;
  if (max && state.cost && is_news(state, k_cost, state.cost->picos(), max->picos())) {
    return LimitWarning{.limit = k_cost, .used = state.cost->dollars(), .max = max->dollars()};
  }
  return std::nullopt;
}

// What is left of the model's window for its answer; nullopt: more than it would use.
std::optional<std::int64_t> room_in_window(const State& state) {
  const std::int64_t window = window_of(state);
  const std::int64_t left = window - estimated_input(state);
  return window > 0 && left < window / 2 ? std::optional(std::max<std::int64_t>(left, 1))
                                         : std::nullopt;
}

// By a measured number. What is merely guessed may be wrong, and the provider says so; but no text
// has so many bytes a token.
bool is_beyond_window(const State& state) {
  constexpr std::int64_t k_beyond_doubt = 4;
  const std::int64_t window = window_of(state);
  const std::int64_t estimate = estimated_input(state);
  return window > 0 && estimate / (state.turns > 0 ? 1 : k_beyond_doubt) >= window;
}

Step ask_within_limits(const State& state) {
  auto room = room_for(state, next_request(state));
  if (!room) {
    return Finish{std::move(room).error()};
  }
  if (may_wrap_up(state)) {
    if (auto less = room_before_the_share(state)) {
      room = std::move(less);
    }
  }
  if (auto warning = near_a_limit(state)) {
    return Warn{std::move(*warning)};
  }
  const auto in_window = room_in_window(state);
  return AskModel{.max_output_tokens = *room && in_window ? std::min(**room, *in_window)
                                       : *room            ? *room
                                                          : in_window};
}

// Its answer goes on as it is.
bool is_paused(const State& state) {
  return state.stop_reason == StopReason::pause && state.unfinished.paused > 0;
}

Step ask(const State& state) {
  if (auto ending = turn_limit(state)) {
    return Finish{std::move(*ending)};
  }
  if (!is_paused(state)) {
    if (auto plan = next_compaction(state)) {
      return Compact{*std::move(plan)};
    }
  }
  if (is_beyond_window(state)) {
    return Finish{failed(
        Code::context_overflow,
        fmt::format("the conversation needs about {} tokens, the window of {} has {}, and nothing "
                    "more can be left out",
                    estimated_input(state),
                    state.model,
                    window_of(state)))};
  }
  if (may_wrap_up(state)) {
    if (const auto limit = nearly_used_up(state)) {
      return wrap_up(state, *limit);
    }
  }
  if (state.goes_on_after_wrap_up) {
    return Say{{.text = std::string(k_go_on), .reason = "carried_on"}};
  }
  return ask_within_limits(state);
}

}  // namespace

std::string_view tool_choice(const State& state) {
  if (state.asks_repair || state.wrap_up) {
    return "none";
  }
  const std::string_view choice = state.plan.tool_choice;
  return choice == "none" || state.tool_calls == 0 ? choice : std::string_view();
}

Step next(const State& state) {
  if (state.ending_result) {
    return Finish{ended_by_tool(state)};
  }
  if (state.is_wrapped_up) {
    return Finish{ended_by_limit(state)};
  }
  if (const auto max = state.plan.limits.max_repeat_calls; max && state.most_repeats >= *max) {
    return Finish{stopped_at(
        Code::run_loop_detected,
        static_cast<double>(state.most_repeats),
        static_cast<double>(*max),
        fmt::format("`{}` was called {} times with the same arguments and the same result",
                    state.most_repeated,
                    state.most_repeats))};
  }
  if (auto calls = next_calls(state); !calls.empty()) {
    return state.is_repair ? Step(RefuseTools{.calls = calls, .why = k_no_tools_now})
                           : tools_or_limit(state, calls);
  }
  if (state.reply_is_unjudged) {
    const Step step = judge(state);
    if (!std::holds_alternative<AskModel>(step)) {
      return step;
    }
  }
  return ask(state);
}

Step next_try(const State& state) {
  if (auto ending = turn_limit(state)) {
    return Finish{std::move(*ending)};
  }
  return ask_within_limits(state);
}

Ending ending_of_answer(const State& state) {
  return state.ending_result ? ended_by_tool(state) : ending_of_text(state);
}

Limits before_the_share(Limits limits) {
  if (limits.max_total_tokens) {
    *limits.max_total_tokens -= *limits.max_total_tokens / k_kept_share;
  }
  if (limits.max_cost_usd) {
    const std::int64_t max = limits.max_cost_usd->picos();
    limits.max_cost_usd = Money::from_picos(max - max / k_kept_share);
  }
  return limits;
}

bool may_wrap_up(const State& state) {
  return state.plan.limits.wrap_up && !state.wrap_up;
}

Step wrap_up(const State& state, Code limit) {
  const bool has_schema = state.output != nullptr;
  return Say{{.text = fmt::format("This is your last turn: `{}` is nearly used up. Call no tools. "
                                  "Give the best final answer that you can give now{}, and say "
                                  "what is not done.",
                                  exit_row(row(limit).exit_code).setting,
                                  has_schema ? ", in the form that is demanded" : ""),
              .reason = "wrap_up",
              .limit = limit}};
}

std::expected<std::optional<std::int64_t>, Ending> room_for(const State& state,
                                                            const Asking& asking) {
  return room_within(state.plan.limits, spent_by(state), asking, {});
}

Asking next_request(const State& state) {
  return {.model = state.model, .prices = state.plan.prices, .input = estimated_input(state)};
}

std::expected<std::optional<std::int64_t>, Ending> room_within(const Limits& limits,
                                                               const Spending& before,
                                                               const Asking& asking,
                                                               std::string_view by) {
  const Spending spent = with_unrecorded(before, asking);
  std::optional<std::int64_t> room;
  if (const auto max = limits.max_total_tokens) {
    if (auto ending = token_limit(spent, asking.input, *max, by)) {
      return std::unexpected(std::move(*ending));
    }
    room = *max - spent.tokens - asking.input;
  }
  if (const auto max = limits.max_cost_usd) {
    if (auto ending = cost_limit(spent.cost, asking, *max, by)) {
      return std::unexpected(std::move(*ending));
    }
    if (const auto tokens = affordable_tokens(asking, *max - *spent.cost)) {
      room = std::min(*tokens, room.value_or(*tokens));
    }
  }
  return room;
}

Ending stopped_at(Code code, double used, double max, std::string message) {
  const ExitRow& exit = exit_row(row(code).exit_code);
  const bool is_limit = row(code).domain == Domain::limit;
  Stop stop{.reason = std::string(exit.name),
            .limit = std::string(is_limit ? exit.setting : ""),
            .used = used,
            .max = max,
            .config_path = std::string(exit.setting),
            .detail = message};
  return {.error = Error{.code = code, .message = std::move(message), .help = {}},
          .stop = std::move(stop)};
}

}  // namespace agent
