#include "agent/state.h"

#include "agent/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace agent {
namespace {

constexpr int k_max_pauses = 20;
constexpr std::int64_t k_bytes_per_token = 4;
constexpr double k_warn_share = 0.8;

constexpr std::string_view k_continue =
    "Your last answer was cut off by the output limit. Continue exactly where it stopped; do not "
    "repeat anything. Tool calls in it were not run: make them again, with less output in each.";
constexpr std::string_view k_say_something =
    "Your last answer was empty. Give your final answer, or make the next tool call.";
constexpr std::string_view k_call_again =
    "Your last tool call was malformed and was not run. Make the call again with valid JSON "
    "arguments, or answer without it.";

std::int64_t bytes_of(const Message& message) {
  const std::string& text = std::visit(
      [](const auto& m) -> const std::string& {
        if constexpr (requires { m.content; }) {
          return m.content;
        } else if constexpr (requires { m.reply; }) {
          return m.reply.text;
        } else {
          return m.text;
        }
      },
      message);
  return static_cast<std::int64_t>(text.size());
}

void say(State& state, Message message) {
  state.new_bytes += bytes_of(message);
  state.conversation.messages.push_back(std::move(message));
}

void fold(State& state, const RunStarted& event) {
  state.model = event.model;
  state.answered_by = event.model;
  state.new_bytes = static_cast<std::int64_t>(event.instructions.size()) + state.plan.tool_bytes;
  say(state, UserMessage{event.prompt});
}

void fold(State& state, const ModelDelta& event) {
  state.streamed_bytes += static_cast<std::int64_t>(event.text.size());
  if (event.kind == ModelDelta::Kind::text) {
    state.streaming += event.text;
  }
}

void fold(State& state, const ModelRequested& event) {
  state.model = event.model;
}

void add_cost(std::optional<Money>& sum, std::optional<Money> part) {
  sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
}

ModelUse& use_of_model(std::vector<ModelUse>& models, const std::string& model) {
  const auto found = std::ranges::find(models, model, &ModelUse::model);
  return found != models.end() ? *found : models.emplace_back(ModelUse{.model = model});
}

void fold(State& state, const ModelReset& event) {
  add_cost(state.cost, event.cost);
  add_cost(use_of_model(state.models, state.model).cost, event.cost);
  state.streaming.clear();
  state.streamed_bytes = 0;
}

void fold(State& state, const ModelFallback& event) {
  state.model = event.to;
  if (event.skipped) {
    return;
  }
  const auto same = std::ranges::find_if(state.fallbacks, [&](const Fallback& one) {
    return one.from == event.from && one.to == event.to && one.reason == event.error.code;
  });
  if (same != state.fallbacks.end()) {
    ++same->count;
  } else {
    state.fallbacks.push_back({.from = event.from, .to = event.to, .reason = event.error.code});
  }
}

// A cut reply stays in the conversation as the text that came; its calls never run.
Reply without_calls(Reply reply) {
  reply.tool_calls.clear();
  reply.raw.clear();
  return reply;
}

void count_in_a_row(int& counter, bool holds) {
  counter = holds ? counter + 1 : 0;
}

void fold(State& state, const ModelResponded& event) {
  const Reply& reply = event.reply;
  const bool continues = state.truncations > 0 || state.pauses > 0;
  state.turns = event.turn;
  state.model = reply.origin.empty() ? state.model : reply.origin;
  state.answered_by = state.model;
  state.usage += reply.usage;
  ModelUse& use = use_of_model(state.models, state.model);
  ++use.turns;
  use.usage += reply.usage;
  add_cost(state.cost, reply.cost);
  add_cost(use.cost, reply.cost);
  state.last_usage = reply.usage;
  state.new_bytes = 0;
  state.streaming.clear();
  state.streamed_bytes = 0;
  state.stop_reason = reply.stop_reason;
  state.answer = continues ? state.answer + reply.text : reply.text;

  const bool cut = reply.stop_reason == StopReason::max_tokens;
  const bool malformed = reply.stop_reason == StopReason::malformed_tool_call;
  const bool paused = reply.stop_reason == StopReason::pause;
  const bool calls = !cut && !malformed && !reply.tool_calls.empty();
  count_in_a_row(state.truncations, cut);
  count_in_a_row(state.malformed_replies, malformed);
  count_in_a_row(state.pauses, paused);
  count_in_a_row(state.empty_replies,
                 !cut && !malformed && !paused && !calls && reply.text.empty());

  state.reply_is_unjudged = !calls;
  state.open_calls = calls ? reply.tool_calls : std::vector<ToolCall>{};
  state.started_calls.clear();
  state.results.clear();
  if (cut || malformed) {
    if (!reply.text.empty()) {
      state.conversation.messages.push_back(AssistantMessage{without_calls(reply)});
    }
  } else if (calls || paused || !reply.text.empty()) {
    state.conversation.messages.push_back(AssistantMessage{reply});
  }
}

void fold(State& state, const UserSaid& event) {
  say(state, UserMessage{event.text});
  state.reply_is_unjudged = false;
}

std::string repeat_key(const ToolCall& call, const ToolResult& result) {
  std::string key = call.name;
  for (const std::string_view part : {std::string_view(call.arguments),
                                      to_string(result.status),
                                      std::string_view(result.content)}) {
    key += '\0';
    key += part;
  }
  return key;
}

// Counts calls that brought nothing new; a result never seen before is progress and starts over.
int count_repeat(State& state, const ToolCall& call, const ToolResult& result) {
  if (!state.plan.limits.max_repeat_calls || state.plan.repeatable_tools.contains(result.name) ||
      result.status == ToolStatus::cancelled || result.status == ToolStatus::not_run) {
    return 0;
  }
  const auto [seen, is_new] =
      state.repeats.try_emplace(std::hash<std::string>{}(repeat_key(call, result)));
  if (is_new) {
    ++state.progress;
    state.most_repeats = 0;
  }
  if (seen->second.progress != state.progress) {
    seen->second = {.progress = state.progress, .count = 0};
  }
  const int count = ++seen->second.count;
  if (count > state.most_repeats) {
    state.most_repeats = count;
    state.most_repeated = result.name;
  }
  return count;
}

// The model hears of it half-way to the limit: the third time of five.
bool deserves_warning(const State& state, int count) {
  return count > 1 && count == (*state.plan.limits.max_repeat_calls + 1) / 2;
}

void append_results(State& state) {
  for (const ToolCall& call : std::exchange(state.open_calls, {})) {
    const ToolResult& result = state.results.at(call.id);
    std::string content = result.content;
    const int count = count_repeat(state, call, result);
    if (count > 0 && deserves_warning(state, count)) {
      content += fmt::format(
          "\n[This is call number {} of `{}` with the same arguments and the same result. It will "
          "not change by asking again: try something else, or finish.]",
          count,
          result.name);
    }
    say(state,
        ToolMessage{.call_id = call.id,
                    .name = result.name,
                    .content = std::move(content),
                    .is_error = result.status != ToolStatus::ok});
  }
  state.results.clear();
}

void fold(State& state, const ToolStarted& event) {
  state.started_calls.insert(event.call_id);
}

void fold(State& state, const ToolFinished& event) {
  const ToolResult& result = event.result;
  const bool was_put_off =
      result.status == ToolStatus::not_run || result.status == ToolStatus::cancelled;
  if (!was_put_off || state.started_calls.contains(result.call_id)) {
    ++state.tool_calls;
  }
  state.denials += result.status == ToolStatus::denied ? 1 : 0;
  if ((result.fatal || result.task_failed) && !state.ending_result) {
    state.ending_result = result;
  }
  state.results.insert_or_assign(result.call_id, result);
  const bool all = std::ranges::all_of(
      state.open_calls, [&](const ToolCall& call) { return state.results.contains(call.id); });
  if (all) {
    append_results(state);
  }
}

void fold(State& state, const LimitWarning& event) {
  state.warned_limits.insert(event.limit);
}

void fold(State& state, const RunFinished& event) {
  state.finished = event.result;
}

template <typename Other>
void fold(State&, const Other&) {}

Ending failed(Code code, std::string message, std::string help = {}) {
  return {.error = Error{.code = code, .message = std::move(message), .help = std::move(help)}};
}

std::vector<ToolCall> unanswered(const State& state) {
  std::vector<ToolCall> calls;
  std::ranges::copy_if(state.open_calls, std::back_inserter(calls), [&](const ToolCall& call) {
    return !state.results.contains(call.id);
  });
  return calls;
}

Step tools_or_limit(const State& state, std::vector<ToolCall> calls) {
  if (const auto max = state.plan.limits.max_tool_calls) {
    const std::int64_t left = *max - state.tool_calls;
    if (left <= 0) {
      return Finish{stopped_at(Code::run_tool_call_limit,
                               "limits.max_tool_calls",
                               static_cast<double>(state.tool_calls),
                               static_cast<double>(*max),
                               fmt::format("the run used all of its {} tool calls", *max))};
    }
    if (std::cmp_greater(calls.size(), left)) {
      calls.resize(static_cast<std::size_t>(left));
    }
  }
  return RunTools{std::move(calls)};
}

Ending ended_by_tool(const ToolResult& result) {
  if (result.task_failed) {
    return failed(Code::run_task_failed, result.message);
  }
  const Code code = result.code.value_or(Code::tool_failed);
  if (row(code).exit_code == row(Code::tool_confirmation_required).exit_code) {
    Ending ending = stopped_at(code, {}, 0, 0, result.message);
    ending.error->help = result.help;
    ending.stop->config_path = "permissions.allow";
    ending.stop->detail += result.help.empty() ? "" : "; " + result.help;
    return ending;
  }
  if (code == Code::run_declined) {
    return failed(code, result.message);
  }
  return failed(
      code,
      fmt::format(
          "the tool `{}`, declared `on_error: fatal`, failed: {}", result.name, result.message));
}

// Whether the answer is what `output.schema` says.
Ending judge_output(const State& state) {
  if (state.plan.output == nullptr) {
    return {};
  }
  const auto json = parse_json(state.answer);
  if (!json) {
    return failed(Code::output_invalid, "the answer is not JSON, which `output.schema` demands");
  }
  const auto violations = state.plan.output->check(*json);
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
      return Finish{
          failed(Code::context_overflow, "the conversation no longer fits the model's context")};
    case StopReason::malformed_tool_call:
      if (state.malformed_replies > 1) {
        return Finish{failed(Code::provider_bad_response,
                             "the model's tool calls were malformed twice in a row")};
      }
      return Say{{.text = std::string(k_call_again), .reason = "malformed_tool_call"}};
    case StopReason::error:
      return Finish{failed(Code::provider_other, "the provider ended the answer with an error")};
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
  if (!state.answer.empty()) {
    return Finish{judge_output(state)};
  }
  if (state.empty_replies > 1) {
    return Finish{failed(Code::output_empty, "the model ended its turn twice without an answer")};
  }
  return Say{{.text = std::string(k_say_something), .reason = "empty"}};
}

// Of the model that is being asked; nullptr: unknown.
const Price* price_of_model(const State& state) {
  const auto found = state.plan.prices.find(state.model);
  return found == state.plan.prices.end() ? nullptr : &found->second;
}

// How many tokens of the next answer the money that is left pays for; nullopt: any number.
std::optional<std::int64_t> affordable_tokens(const State& state, Money max) {
  const Price* price = price_of_model(state);
  return price != nullptr
             ? affordable_output(*price, max - state.cost.value_or(max), estimated_input(state))
             : std::nullopt;
}

std::optional<Ending> cost_limit_before_asking(const State& state, Money max) {
  const auto stopped = [&](std::string message) {
    return stopped_at(Code::run_cost_budget,
                      "limits.max_cost_usd",
                      state.cost.value_or(max).dollars(),
                      max.dollars(),
                      std::move(message));
  };
  if (!state.cost) {
    return stopped("what the last answer cost is unknown, so that the limit cannot be kept");
  }
  if (*state.cost >= max) {
    return stopped(fmt::format("{} of {} are spent", format_money(state.cost), format_money(max)));
  }
  const Price* price = price_of_model(state);
  const Money input = price != nullptr ? input_cost(*price, estimated_input(state)) : Money{};
  if (input > max - *state.cost || affordable_tokens(state, max) == 0) {
    return stopped(fmt::format("{} of {} are spent, and the next request alone costs about {}",
                               format_money(state.cost),
                               format_money(max),
                               format_money(input)));
  }
  return std::nullopt;
}

std::optional<Ending> limit_before_asking(const State& state) {
  const Limits& limits = state.plan.limits;
  if (limits.max_turns && state.turns >= *limits.max_turns) {
    return stopped_at(
        Code::run_max_turns,
        "limits.max_turns",
        static_cast<double>(state.turns),
        static_cast<double>(*limits.max_turns),
        fmt::format("no answer after {} turn{}", state.turns, state.turns == 1 ? "" : "s"));
  }
  if (limits.max_total_tokens) {
    const double used = static_cast<double>(state.usage.total());
    const double max = static_cast<double>(*limits.max_total_tokens);
    if (state.usage.total() >= *limits.max_total_tokens) {
      return stopped_at(
          Code::run_token_budget,
          "limits.max_total_tokens",
          used,
          max,
          fmt::format("{} of {} tokens are used", state.usage.total(), *limits.max_total_tokens));
    }
    if (const auto input = estimated_input(state);
        state.usage.total() + input >= *limits.max_total_tokens) {
      return stopped_at(
          Code::run_token_budget,
          "limits.max_total_tokens",
          used,
          max,
          fmt::format("{} of {} tokens are used, and the next request alone needs about {}",
                      state.usage.total(),
                      *limits.max_total_tokens,
                      input));
    }
  }
  return limits.max_cost_usd ? cost_limit_before_asking(state, *limits.max_cost_usd) : std::nullopt;
}

std::optional<LimitWarning> near_the_cost_limit(const State& state) {
  constexpr const char* k_name = "limits.max_cost_usd";
  const auto max = state.plan.limits.max_cost_usd;
  if (!max || !state.cost || state.warned_limits.contains(k_name) ||
      *state.cost < *max - Money::from_picos(max->picos() / 5)) {
    return std::nullopt;
  }
  return LimitWarning{.limit = k_name, .used = state.cost->dollars(), .max = max->dollars()};
}

std::optional<LimitWarning> near_a_limit(const State& state) {
  const Limits& limits = state.plan.limits;
  const auto near = [&](const char* name,
                        std::int64_t used,
                        std::optional<std::int64_t> max) -> std::optional<LimitWarning> {
    if (!max || *max < 5 || state.warned_limits.contains(name) ||
        static_cast<double>(used) < k_warn_share * static_cast<double>(*max)) {
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
  return near_the_cost_limit(state);
}

Step ask(const State& state) {
  if (auto ending = limit_before_asking(state)) {
    return Finish{std::move(*ending)};
  }
  if (auto warning = near_a_limit(state)) {
    return Warn{std::move(*warning)};
  }
  AskModel step;
  if (state.plan.limits.max_total_tokens) {
    step.max_output_tokens =
        *state.plan.limits.max_total_tokens - state.usage.total() - estimated_input(state);
  }
  if (const auto max = state.plan.limits.max_cost_usd) {
    if (const auto tokens = affordable_tokens(state, *max)) {
      step.max_output_tokens = std::min(*tokens, step.max_output_tokens.value_or(*tokens));
    }
  }
  return step;
}

}  // namespace

void advance(State& state, const EventBody& event) {
  std::visit([&](const auto& body) { fold(state, body); }, event);
}

std::string_view tool_choice(const State& state) {
  const std::string_view choice = state.plan.tool_choice;
  return choice == "none" || state.tool_calls == 0 ? choice : std::string_view();
}

std::int64_t estimated_input(const State& state) {
  return state.last_usage.total() + (state.new_bytes + k_bytes_per_token - 1) / k_bytes_per_token;
}

std::optional<Money> cost_of_broken_stream(const State& state) {
  const Price* price = price_of_model(state);
  return price != nullptr
             ? std::optional(cost(
                   *price,
                   {.input = estimated_input(state),
                    .output = (state.streamed_bytes + k_bytes_per_token - 1) / k_bytes_per_token}))
             : std::nullopt;
}

Step next(const State& state) {
  if (state.ending_result) {
    return Finish{ended_by_tool(*state.ending_result)};
  }
  if (auto calls = unanswered(state); !calls.empty()) {
    return tools_or_limit(state, std::move(calls));
  }
  if (const auto max = state.plan.limits.max_repeat_calls; max && state.most_repeats >= *max) {
    return Finish{stopped_at(
        Code::run_loop_detected,
        "limits.max_repeat_calls",
        static_cast<double>(state.most_repeats),
        static_cast<double>(*max),
        fmt::format("`{}` was called {} times with the same arguments and the same result",
                    state.most_repeated,
                    state.most_repeats))};
  }
  if (state.reply_is_unjudged) {
    const Step step = judge(state);
    if (!std::holds_alternative<AskModel>(step)) {
      return step;
    }
  }
  return ask(state);
}

Ending stopped_at(Code code, std::string limit, double used, double max, std::string message) {
  Stop stop{.reason = std::string(exit_row(row(code).exit_code).name),
            .limit = limit,
            .used = used,
            .max = max,
            .config_path = std::move(limit),
            .detail = message};
  return {.error = Error{.code = code, .message = std::move(message), .help = {}},
          .stop = std::move(stop)};
}

RunResult make_result(const State& state, const Ending& ending) {
  RunResult result;
  result.exit_code = exit_code(ending);
  result.error = ending.error;
  result.usage = state.usage;
  result.cost = state.cost;
  result.models = state.models;
  if (state.streamed_bytes > 0) {
    const auto part = cost_of_broken_stream(state);
    add_cost(result.cost, part);
    add_cost(use_of_model(result.models, state.model).cost, part);
  }
  result.turns = state.turns;
  result.tool_calls = state.tool_calls;
  result.denials = state.denials;
  result.model = state.answered_by;
  result.fallbacks = state.fallbacks;
  result.text = state.answer;
  if (!state.streaming.empty()) {
    result.text = state.truncations > 0 ? state.answer + state.streaming : state.streaming;
  }
  const bool is_final =
      result.exit_code == 0 || result.exit_code == row(Code::run_task_failed).exit_code;
  if (is_final && result.text.empty() && ending.error) {
    result.text = ending.error->message;
  }
  result.partial = !is_final && !result.text.empty();
  if (result.exit_code == 0 && state.plan.output != nullptr) {
    result.output = result.text;
  }
  if (status_of(result.exit_code) == Status::stopped) {
    result.stop = ending.stop;
    if (!result.stop) {
      result.stop = Stop{.reason = std::string(exit_row(result.exit_code).name),
                         .detail = ending.error ? ending.error->message : ""};
    }
  }
  const auto max_tokens = state.plan.limits.max_total_tokens;
  const auto max_cost = state.plan.limits.max_cost_usd;
  result.over_budget = is_final && ((max_tokens && state.usage.total() > *max_tokens) ||
                                    (max_cost && result.cost > *max_cost));
  return result;
}

}  // namespace agent
