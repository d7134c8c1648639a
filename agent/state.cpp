#include "agent/state.h"

#include "agent/budget.h"
#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace agent {
namespace {

std::int64_t bytes_of(const Message& message) {
  const std::string& text = std::visit(
      [](const auto& m) -> const std::string& {
        if constexpr (requires { m.content; }) {
          return m.content;
        } else if constexpr (requires { m.reply; }) {
          return m.reply->text;
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

std::shared_ptr<const JsonSchema> compiled(const std::string& schema) {
  if (const auto json = parse_json(schema)) {
    if (auto program = JsonSchema::compile(*json)) {
      return std::make_shared<const JsonSchema>(*std::move(program));
    }
  }
  return nullptr;
}

// What ended the run before counts no more, nor does how its last answer went.
void reopen(State& state) {
  state.finished.reset();
  state.ending_result.reset();
  state.truncations = 0;
  state.empty_replies = 0;
  state.malformed_replies = 0;
  state.pauses = 0;
}

void hear_prompt(State& state, const RunStarted& event) {
  for (const Attachment& attachment : event.attachments) {
    state.new_bytes += estimated_tokens(attachment) * k_bytes_per_token;
  }
  state.reply_is_unjudged = false;
  ++state.progress;  // the same call again may be what is asked for
  state.most_repeats = 0;
  UserMessage message{.text = event.prompt, .attachments = event.attachments};
  if (!state.open_calls.empty()) {
    state.next_message = std::move(message);
    return;
  }
  state.prompt = state.conversation.messages.size();
  say(state, std::move(message));
}

// What another run has paid for is on its bill.
void begin_bill(State& state) {
  state.usage = {};
  state.cost = Money{};
  state.models.clear();
  state.fallbacks.clear();
  state.warned_limits.clear();
}

void fold(State& state, const RunStarted& event) {
  if (event.forked_from) {
    state.ancestors.push_back(event.forked_from->run_id);
    begin_bill(state);
  }
  state.plan = event.plan;
  state.output = compiled(event.plan.output_schema);
  state.first_model = event.model;
  state.model = event.model;
  if (!event.resumes) {
    state.answered_by = event.model;
    state.new_bytes = static_cast<std::int64_t>(event.instructions.size()) + state.plan.tool_bytes;
    hear_prompt(state, event);
    return;
  }
  std::string().swap(state.streaming);
  state.prompt.reset();
  if (state.finished) {
    reopen(state);
  }
  if (!event.prompt.empty() || !event.attachments.empty()) {
    hear_prompt(state, event);
  }
}

void fold(State& state, const ModelDelta& event) {
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

void count_use(State& state, const ModelUse& more) {
  ModelUse& use = use_of_model(state.models, more.model);
  state.usage += more.usage;
  use.usage += more.usage;
  use.turns += more.turns;
  use.usage_estimated = use.usage_estimated || more.usage_estimated;
  add_cost(state.cost, more.cost);
  add_cost(use.cost, more.cost);
}

void fold(State& state, const ModelBroken& event) {
  count_use(state,
            {.model = state.model,
             .usage = event.counted(),
             .cost = event.cost,
             .usage_estimated = event.estimated.has_value()});
}

void fold(State& state, const ModelReset&) {
  state.streaming.clear();
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

// A reply whose calls may not run stays in the conversation as the text that came.
Reply without_calls(Reply reply) {
  reply.tool_calls.clear();
  reply.raw.clear();
  return reply;
}

void count_in_a_row(int& counter, bool holds) {
  counter = holds ? counter + 1 : 0;
}

void fold(State& state, const ModelResponded& event) {
  const Reply& reply = *event.reply;
  const bool continues = state.truncations > 0 || state.pauses > 0;
  state.turns = event.turn;
  state.answered_by = reply.origin.empty() ? state.model : reply.origin;
  state.model = state.first_model;
  count_use(state,
            {.model = state.answered_by,
             .turns = 1,
             .usage = reply.counted(),
             .cost = reply.cost,
             .usage_estimated = reply.estimated.has_value()});
  state.last_usage = reply.counted();
  state.has_estimates = state.has_estimates || reply.estimated;
  state.new_bytes = 0;
  std::string().swap(state.streaming);  // gives its memory back, which `= {}` does not
  state.stop_reason = reply.stop_reason;
  state.answer = continues && state.answer != nullptr
                     ? std::make_shared<const std::string>(*state.answer + reply.text)
                     : event.reply.text();
  if (is_blank(*state.answer)) {
    state.answer = nullptr;
  }

  const bool says_nothing = is_blank(reply.text);
  const bool cut = reply.stop_reason == StopReason::max_tokens;
  const bool malformed = reply.stop_reason == StopReason::malformed_tool_call;
  const bool paused = reply.stop_reason == StopReason::pause;
  const bool may_call = lets_calls_run(reply.stop_reason);
  const bool calls = may_call && !reply.tool_calls.empty();
  count_in_a_row(state.truncations, cut);
  count_in_a_row(state.malformed_replies, malformed);
  count_in_a_row(state.pauses, paused);
  count_in_a_row(state.empty_replies, !cut && !malformed && !paused && !calls && says_nothing);

  state.reply_is_unjudged = !calls;
  state.last_reply = event.reply;
  state.open_calls = calls ? std::span(reply.tool_calls) : std::span<const ToolCall>();
  state.started_calls.clear();
  state.results.clear();
  state.settled_calls = 0;
  if (!may_call) {
    if (!says_nothing) {
      state.conversation.messages.push_back(AssistantMessage{without_calls(reply)});
    }
  } else if (calls || paused || !says_nothing) {
    state.conversation.messages.push_back(AssistantMessage{event.reply});
  }
}

void fold(State& state, const UserSaid& event) {
  say(state, UserMessage{.text = event.text});
  state.reply_is_unjudged = false;
  state.ending_result.reset();
  ++state.said[event.reason];
}

std::string repeat_key(const ToolCall& call, const ToolResult& result) {
  const std::string arguments = canonical_text(call.arguments);
  std::string key;
  key.reserve(call.name.size() + arguments.size() + result.content.size() + 64);
  key = call.name;
  for (const std::string_view part :
       {std::string_view(arguments), to_string(result.status), std::string_view(result.content)}) {
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
    say(state,
        ToolMessage{.call_id = call.id,
                    .name = result.name,
                    .content = result.content,
                    .is_error = result.status != ToolStatus::ok});
  }
  state.settled_calls = 0;
  state.results.clear();
  if (auto message = std::exchange(state.next_message, std::nullopt)) {
    state.prompt = state.conversation.messages.size();
    say(state, *std::move(message));
  }
}

// Repeats are counted in the order of the calls, whichever ended first.
void settle_calls(State& state) {
  for (; state.settled_calls < state.open_calls.size(); ++state.settled_calls) {
    const ToolCall& call = state.open_calls[state.settled_calls];
    const auto found = state.results.find(call.id);
    if (found == state.results.end()) {
      return;
    }
    ToolResult& result = found->second;
    const int count = count_repeat(state, call, result);
    if (count > 0 && deserves_warning(state, count)) {
      result.content += fmt::format(
          "\n[This is call number {} of `{}` with the same arguments and the same result. It will "
          "not change by asking again: try something else, or finish.]",
          count,
          result.name);
    }
  }
  append_results(state);
}

void fold(State& state, const ToolStarted& event) {
  state.started_calls.insert_or_assign(event.call_id, event.name);
}

void fold(State& state, const ToolFinished& event) {
  const ToolResult& result = event.result;
  const bool was_put_off =
      result.status == ToolStatus::not_run || result.status == ToolStatus::cancelled;
  if (!was_put_off || state.started_calls.contains(result.call_id)) {
    ++state.tool_calls;
  }
  for (const SeenFile& file : result.seen) {
    state.seen_files.insert_or_assign(file.path, file);
  }
  state.denials += result.status == ToolStatus::denied ? 1 : 0;
  if ((result.fatal || result.task_failed) && !state.ending_result) {
    state.ending_result = result;
    if (result.task_failed) {
      state.answer = std::make_shared<const std::string>(result.message);
    }
  }
  state.results.insert_or_assign(result.call_id, result);
  settle_calls(state);
}

void fold(State& state, const GuardrailRan& event) {
  if (event.text && event.point == HookPoint::stop) {
    state.answer = event.text->empty() ? nullptr : std::make_shared<const std::string>(*event.text);
  }
  if (event.text && event.point == HookPoint::run_start && state.prompt) {
    std::get<UserMessage>(state.conversation.messages.at(*state.prompt)).text = *event.text;
  }
  if (event.judge) {
    ModelUse use = *event.judge;
    use.turns = 0;  // the bill has them, but they are none of the agent's
    count_use(state, use);
  }
}

void fold(State& state, const LimitWarning& event) {
  state.warned_limits.insert(event.limit);
}

void fold(State& state, const RunFinished& event) {
  state.finished = event.result;
}

// What was done about an attempt or a call: the state changes by what came of it.
template <typename Body>
concept IsNotFolded = IsOneOf<Body,
                              TurnStarted,
                              ModelRetrying,
                              ToolOutput,
                              ApprovalRequested,
                              ApprovalAnswered,
                              HookRan,
                              Warning>;

void fold(State&, const IsNotFolded auto&) {}

}  // namespace

void advance(State& state, const EventBody& event) {
  std::visit([&](const auto& body) { fold(state, body); }, event);
}

std::int64_t estimated_input(const State& state) {
  return state.last_usage.total() + tokens_of(state.new_bytes);
}

RunResult make_result(const State& state, const Ending& ending) {
  RunResult result;
  result.exit_code = exit_code(ending);
  result.error = ending.error;
  result.usage = state.usage;
  result.cost = state.cost;
  result.models = state.models;
  result.usage_estimated = std::ranges::any_of(result.models, &ModelUse::usage_estimated);
  result.turns = state.turns;
  result.tool_calls = state.tool_calls;
  result.denials = state.denials;
  result.model = state.answered_by;
  result.fallbacks = state.fallbacks;
  if (state.answer != nullptr && (state.streaming.empty() || state.truncations > 0)) {
    result.text = *state.answer;
  }
  result.text += state.streaming;
  const bool is_final =
      result.exit_code == 0 || result.exit_code == row(Code::run_task_failed).exit_code;
  if (is_final && result.text.empty() && ending.error) {
    result.text = ending.error->message;
  }
  result.partial = !is_final && !result.text.empty();
  if (result.exit_code == 0 && state.output != nullptr) {
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
