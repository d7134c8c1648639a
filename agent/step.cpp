#include "agent/step.h"

#include "agent/compaction.h"
#include "agent/json.h"
#include "agent/refusal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace agent {
namespace {

constexpr int k_max_pauses = 20;
constexpr std::int64_t k_shares = 5;  // of a limit; before the last one there is a warning

constexpr std::string_view k_continue =
    "Your last answer was cut off by the output limit. Continue exactly where it stopped; do not "
    "repeat anything. Tool calls in it were not run: make them again, with less output in each.";
constexpr std::string_view k_say_something =
    "Your last answer was empty. Give your final answer, or make the next tool call.";
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

Ending ended_by_tool(const State& state) {
  const ToolResult& result = *state.ending_result;
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
  if (code == Code::run_declined) {
    return failed(code, result.message);
  }
  // A violation that could not be undone ends a run that nobody has declared to end so.
  const bool is_violation = code == Code::sandbox_violation;
  return failed(
      code,
      fmt::format("the tool `{}`{}: {}",
                  result.name,
                  is_violation ? " ended the run" : ", declared `on_error: fatal`, failed",
                  result.message));
}

// Whether the answer is what `output.schema` says.
Ending judge_output(const State& state) {
  if (state.output == nullptr) {
    return {};
  }
  const auto json = parse_json(*state.answer);
  if (!json) {
    const std::string why = why_not_json(*state.answer);
    return failed(Code::output_invalid,
                  why == "is not valid JSON"
                      ? "the answer is not JSON, which `output.schema` demands"
                      : "the JSON of the answer " + why);
  }
  const auto violations = state.output->check(*json);
  if (violations.empty()) {
    return {};
  }
  const auto& [pointer, message, is_type] = violations.front();
  return failed(
      Code::output_invalid,
      fmt::format(
          "the answer does not fit `output.schema`: {} {}{}",
          pointer.empty() ? "it" : pointer,
          message,
          violations.size() > 1 ? fmt::format(" (and {} more)", violations.size() - 1) : ""));
}

// The answer is as long as the window had room for.
Step cut_by_window(const State& state) {
  if (state.truncations < 2) {
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
      if (state.truncations > 1) {
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
      if (state.malformed_replies > 1) {
        return Finish{failed(Code::provider_bad_response,
                             "the model's tool calls were malformed twice in a row")};
      }
      return Say{{.text = std::string(k_call_again), .reason = "malformed_tool_call"}};
    case StopReason::error:
      return Finish{
          failed(Code::provider_stream_broken, "the server ended the answer before it was whole")};
    case StopReason::pause:
      if (state.pauses > k_max_pauses) {
        return Finish{
            failed(Code::provider_bad_response,
                   fmt::format("the provider paused the answer {} times in a row", state.pauses))};
      }
      return AskModel{};
    case StopReason::end_turn:
    case StopReason::tool_use:
    case StopReason::stop_sequence:
    case StopReason::unknown:
      break;
  }
  if (state.answer != nullptr) {
    return Finish{judge_output(state)};
  }
  if (state.empty_replies > 1) {
    return Finish{failed(Code::output_empty, "the model ended its turn twice without an answer")};
  }
  return Say{{.text = std::string(k_say_something), .reason = "empty"}};
}

// What is used up, also by what no event tells of yet.
struct Spent {
  std::int64_t tokens = 0;
  std::optional<Money> cost;  // nullopt: unknown
};

Spent spent_by(const State& state, const Asking& asking) {
  return {.tokens = state.usage.total() + asking.unrecorded.usage.total(),
          .cost = sum_of(state.cost, asking.unrecorded.cost)};
}

std::optional<Ending> token_limit(const Spent& spent, std::int64_t input, std::int64_t max) {
  const auto stopped = [&](std::string message) {
    return stopped_at(Code::run_token_budget,
                      static_cast<double>(spent.tokens),
                      static_cast<double>(max),
                      std::move(message));
  };
  if (spent.tokens >= max) {
    return stopped(fmt::format("{} of {} tokens are used", spent.tokens, max));
  }
  if (spent.tokens + input >= max) {
    return stopped(
        fmt::format("{} of {} tokens are used, and the next request alone needs about {}",
                    spent.tokens,
                    max,
                    input));
  }
  return std::nullopt;
}

std::optional<Ending> cost_limit(std::optional<Money> spent, const Asking& asking, Money max) {
  const auto stopped = [&](std::string message) {
    return stopped_at(
        Code::run_cost_budget, spent.value_or(max).dollars(), max.dollars(), std::move(message));
  };
  if (!spent) {
    return stopped("what the last answer cost is unknown, so that the limit cannot be enforced");
  }
  if (*spent >= max) {
    return stopped(fmt::format("{} of {} are spent", format_money(spent), format_money(max)));
  }
  const auto price = asking.prices.find(asking.model);
  if (price == asking.prices.end()) {
    return std::nullopt;
  }
  const Money input = input_cost(price->second, asking.input);
  if (input > max - *spent || affordable_output(price->second, max - *spent, asking.input) == 0) {
    return stopped(fmt::format("{} of {} are spent, and the next request alone costs about {}",
                               format_money(spent),
                               format_money(max),
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

// By a measured number: what is merely guessed may be wrong, and the provider says so.
bool is_beyond_window(const State& state) {
  const std::int64_t window = window_of(state);
  return window > 0 && state.turns > 0 && estimated_input(state) >= window;
}

Step ask_within_limits(const State& state) {
  auto room = room_for(
      state, {.model = state.model, .prices = state.plan.prices, .input = estimated_input(state)});
  if (!room) {
    return Finish{std::move(room).error()};
  }
  if (auto warning = near_a_limit(state)) {
    return Warn{std::move(*warning)};
  }
  const auto in_window = room_in_window(state);
  return AskModel{.max_output_tokens = *room && in_window ? std::min(**room, *in_window)
                                       : *room            ? *room
                                                          : in_window};
}

Step ask(const State& state) {
  if (auto ending = turn_limit(state)) {
    return Finish{std::move(*ending)};
  }
  if (state.pauses == 0) {  // an answer that was only paused goes on as it is
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
  return ask_within_limits(state);
}

}  // namespace

std::string_view tool_choice(const State& state) {
  const std::string_view choice = state.plan.tool_choice;
  return choice == "none" || state.tool_calls == 0 ? choice : std::string_view();
}

Step next(const State& state) {
  if (state.ending_result) {
    return Finish{ended_by_tool(state)};
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
    return tools_or_limit(state, calls);
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

std::expected<std::optional<std::int64_t>, Ending> room_for(const State& state,
                                                            const Asking& asking) {
  const Limits& limits = state.plan.limits;
  const Spent spent = spent_by(state, asking);
  std::optional<std::int64_t> room;
  if (const auto max = limits.max_total_tokens) {
    if (auto ending = token_limit(spent, asking.input, *max)) {
      return std::unexpected(std::move(*ending));
    }
    room = *max - spent.tokens - asking.input;
  }
  if (const auto max = limits.max_cost_usd) {
    if (auto ending = cost_limit(spent.cost, asking, *max)) {
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
