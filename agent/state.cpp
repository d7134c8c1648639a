#include "agent/state.h"

#include "agent/budget.h"
#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
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

void append(State& state, Message message) {
  if (std::holds_alternative<ToolMessage>(message)) {
    state.results_at.push_back(state.conversation.messages.size());
  }
  if (!state.view.is_whole()) {
    state.shown.messages.push_back(message);
  }
  state.conversation.messages.push_back(std::move(message));
}

void say(State& state, Message message) {
  state.new_bytes += bytes_of(message);
  append(state, std::move(message));
}

// Older messages are others now.
void show_again(State& state) {
  if (!state.view.is_whole()) {
    state.shown.messages = seen(state.conversation.messages, state.view);
    ++state.shown.revision;
  }
}

std::shared_ptr<const JsonSchema> compiled(const std::string& schema) {
  if (const auto json = parse_json(schema)) {
    if (auto program = JsonSchema::compile(*json)) {
      return std::make_shared<const JsonSchema>(*std::move(program));
    }
  }
  return nullptr;
}

// The turn that was to be the last one is none.
void go_on_after_wrap_up(State& state) {
  state.goes_on_after_wrap_up = state.goes_on_after_wrap_up || state.wrap_up.has_value();
  if (std::exchange(state.is_wrapped_up, false)) {
    state.reply_is_unjudged = false;
    state.answer_goes_on = false;
    state.unfinished = {};
  }
  state.wrap_up.reset();
}

// What ended the run before counts no more, nor does how its last answer went. A result that would
// have ended it counts still where something else came first: nobody has been told of it.
void reopen(State& state) {
  const int exit_code = state.finished->exit_code;
  const bool has_handed_over = state.ending_result && ended_after_handoff(state) != nullptr;
  const bool is_told =
      has_handed_over ? goes_on_with_other(state, exit_code) != nullptr
                      : !is_parked(*state.finished) && status_of(exit_code) != Status::cancelled;
  if (is_told) {
    state.ending_result.reset();
  }
  if (is_told || !has_handed_over) {
    state.handed_over.clear();
  }
  state.finished.reset();
  state.unfinished = {.cut = std::min(state.unfinished.cut, 1)};  // which it is still
  state.overflows = 0;
  state.failed_summaries = 0;
  go_on_after_wrap_up(state);
}

void count_attachments(State& state, const std::vector<Attachment>& attachments) {
  for (const Attachment& attachment : attachments) {
    state.new_bytes += estimated_tokens(attachment) * k_bytes_per_token;
  }
}

// As if it had been said in this run.
void hear_opening(State& state, const OpeningMessage& opening) {
  if (opening.role == "assistant") {
    say(state, AssistantMessage{Reply{.text = opening.text, .stop_reason = StopReason::end_turn}});
    return;
  }
  count_attachments(state, opening.attachments);
  say(state, UserMessage{.text = opening.text, .attachments = opening.attachments});
}

void hear_prompt(State& state, const RunStarted& event) {
  count_attachments(state, event.attachments);
  state.ending_result.reset();  // it goes another way from there
  state.handed_over.clear();
  state.reply_is_unjudged = false;
  state.answer_goes_on = false;
  state.unfinished = {};
  state.repairs = 0;
  state.asks_repair = false;
  state.is_repair = false;
  state.failed_before.clear();
  state.failed_rounds = 0;
  state.goes_on_after_wrap_up = false;
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
  go_on_after_wrap_up(state);
}

// What ended the other run is the result of a call like any other here: the model reads it.
void go_on_from_turn(State& state) {
  if (state.ending_result) {
    state.ending_result.reset();
    state.answer = is_blank(state.last_reply->text) ? nullptr : state.last_reply.text();
  }
  state.handed_over.clear();
}

// But for those that the process offers from the start.
void keep_added_tools(State& state, const std::vector<std::string>& offered) {
  const std::set<std::string_view> names(offered.begin(), offered.end());
  std::erase_if(state.added_tools,
                [&](const AddedTool& tool) { return names.contains(tool.name); });
  state.added_names.clear();
  for (const AddedTool& tool : state.added_tools) {
    state.added_names.insert(tool.name);
    state.fixed_bytes += tool.bytes;
  }
}

void fold(State& state, const RunStarted& event) {
  if (event.forked_from) {
    state.ancestors.push_back(event.forked_from->run_id);
    state.members.clear();
    state.sub_agents.clear();
    begin_bill(state);
    go_on_from_turn(state);
  }
  state.plan = event.plan;
  state.output = compiled(event.plan.output_schema);
  state.first_model = event.model;
  state.missing_servers = event.missing_servers;
  state.model = event.model;
  state.cwd = event.cwd;
  state.fixed_bytes = static_cast<std::int64_t>(event.instructions.size()) + state.plan.tool_bytes;
  keep_added_tools(state, event.tools);
  if (!event.resumes) {
    state.answered_by = event.model;
    state.new_bytes = state.fixed_bytes;
    for (const OpeningMessage& opening : event.opening) {
      hear_opening(state, opening);
    }
    hear_prompt(state, event);
    return;
  }
  std::string().swap(state.streaming);
  state.checks.clear();  // meanwhile, what they look at may have become another
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
    if (std::exchange(state.has_broken, false)) {
      state.streaming.clear();
    }
    state.streaming += event.text;
  }
}

void fold(State& state, const ModelRequested& event) {
  state.model = event.model;
}

void count_use(State& state, const ModelUse& more) {
  use_of_model(state.models, more.model) += more;
  state.usage += more.usage;
  state.cost = sum_of(state.cost, more.cost);
}

// The bill has them, but their answers are none of the agent's.
void count_use_beside(State& state, std::optional<ModelUse> use) {
  if (use) {
    use->turns = 0;
    count_use(state, *use);
  }
}

void fold(State& state, const ModelBroken& event) {
  ModelUse use = use_in(event);
  use.model = state.model;
  count_use(state, use);
}

// What came of it is the partial answer where the run ends before there is another one.
void fold(State& state, const ModelReset&) {
  state.has_broken = true;
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

bool is_cut(StopReason reason) {
  return reason == StopReason::max_tokens || reason == StopReason::context_window;
}

bool is_malformed(const Reply& reply) {
  return reply.stop_reason == StopReason::malformed_tool_call ||
         (reply.stop_reason == StopReason::tool_use && reply.tool_calls.empty());
}

// Whether there is an answer that is whole where nothing more comes: one that was only paused is,
// but not one that was cut, or that a malformed call was to go on.
bool stands_without_more(const State& state) {
  const bool broke_off = state.unfinished.cut > 0 || state.unfinished.malformed > 0;
  return state.answer != nullptr && !(state.answer_goes_on && broke_off);
}

// Replies of one kind do not make those of another be forgotten: a model that alternates between
// them gets nowhere, too.
void count_unfinished(State& state, const Reply& reply, bool calls) {
  State::Unfinished& unfinished = state.unfinished;
  if (is_cut(reply.stop_reason)) {
    ++unfinished.cut;
  } else if (is_malformed(reply)) {
    ++unfinished.malformed;
  } else if (reply.stop_reason == StopReason::pause) {
    ++unfinished.paused;
  } else if (calls || !is_blank(reply.text) || stands_without_more(state)) {
    unfinished = {};
  } else {
    ++unfinished.empty;
  }
}

// Only what a reply has said can be gone on with, and only calls or a whole reply end it: one that
// was malformed or empty leaves it as it was.
bool goes_on_after(const State& state, const Reply& reply) {
  if (is_cut(reply.stop_reason) || reply.stop_reason == StopReason::pause) {
    return state.answer_goes_on || !is_blank(reply.text);
  }
  return state.answer_goes_on && state.unfinished != State::Unfinished{};
}

void fold(State& state, const ModelResponded& event) {
  const Reply& reply = *event.reply;
  state.turns = event.turn;
  state.answered_by = reply.origin.empty() ? state.model : reply.origin;
  state.model = state.first_model;
  ModelUse use = use_in(reply);
  use.model = state.answered_by;
  count_use(state, use);
  state.last_usage = reply.counted();
  state.has_estimates = state.has_estimates || reply.estimated;
  state.new_bytes = 0;
  state.overflows = 0;
  std::string().swap(state.streaming);  // gives its memory back, which `= {}` does not
  state.stop_reason = reply.stop_reason;
  const bool says_nothing = is_blank(reply.text);
  state.is_repair = std::exchange(state.asks_repair, false);
  state.is_wrapped_up = state.wrap_up.has_value();
  state.checks.clear();
  const bool has_answer = state.is_repair || state.is_wrapped_up || state.answer_goes_on;
  if (!says_nothing || !has_answer) {
    state.answer = state.answer_goes_on && state.answer != nullptr
                       ? std::make_shared<const std::string>(*state.answer + reply.text)
                       : event.reply.text();
  }
  if (state.answer != nullptr && is_blank(*state.answer)) {
    state.answer = nullptr;
  }

  const bool paused = reply.stop_reason == StopReason::pause;
  const bool may_call = lets_calls_run(reply.stop_reason);
  const bool calls = may_call && !reply.tool_calls.empty();
  state.asks_repair = state.is_repair && paused;
  count_unfinished(state, reply, calls);
  state.answer_goes_on = goes_on_after(state, reply);

  state.reply_is_unjudged = !calls;
  state.last_reply = event.reply;
  state.open_calls = calls ? std::span(reply.tool_calls) : std::span<const ToolCall>();
  state.calls_made += static_cast<std::int64_t>(state.open_calls.size());
  state.started_calls.clear();
  state.results.clear();
  state.settled_calls = 0;
  if (!may_call) {
    if (!says_nothing) {
      append(state, AssistantMessage{without_calls(reply)});
    }
  } else if (calls || paused || !says_nothing) {
    append(state, AssistantMessage{event.reply});
  }
}

// The answer, with what its checks have found.
void send_back(State& state) {
  std::erase_if(state.checks, [](const CheckRan& check) { return check.passed; });
  state.failed_before = std::exchange(state.checks, {});
  ++state.failed_rounds;
}

void fold(State& state, const CheckRan& event) {
  state.checks.push_back(event);
}

void fold(State& state, const UserSaid& event) {
  say(state, UserMessage{.text = event.text, .is_programs = true});
  state.reply_is_unjudged = false;
  state.ending_result.reset();
  state.handed_over.clear();
  state.asks_repair = event.reason == "output_invalid" ||
                      (state.is_repair && (event.reason == "truncated" || event.reason == "empty" ||
                                           event.reason == "malformed_tool_call"));
  state.goes_on_after_wrap_up = false;
  if (event.reason == "output_invalid") {
    ++state.repairs;
  } else if (event.reason == "checks_failed") {
    send_back(state);
  } else if (event.reason == "wrap_up") {
    state.wrap_up = event.limit.value_or(Code::run_timeout);
  }
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
  state.reply_is_unjudged = state.is_repair;  // none of them ran
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

// Nothing of it waits any more where its call has a result. The conversation is back where the
// result of a hand-over is not how the other agent ended.
void settle_member(State& state, const std::string& call_id) {
  const auto found = state.sub_agents.find({state.turns, call_id});
  const bool has_ended = found != state.sub_agents.end() && found->second.record.finished;
  const bool is_over = has_ended && !found->second.record.finished->suspended;
  if (has_ended) {
    found->second.record.finished->suspended = false;
  }
  if (call_id == state.handed_over && !is_over) {
    state.handed_over.clear();
  }
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
    if (state.plan.context.writing_tools.contains(result.name)) {
      state.changed_files.insert(file.path);
    }
  }
  if (result.status == ToolStatus::ok && state.plan.context.kept_tools.contains(result.name)) {
    state.kept_results.insert_or_assign(result.name, result.content);
  }
  const bool is_members = member_of_call(state, result.call_id) != nullptr;  // and counted there
  state.denials += result.status == ToolStatus::denied && !is_members ? 1 : 0;
  settle_member(state, result.call_id);
  const bool was_handed_over = result.call_id == state.handed_over && !result.call_id.empty();
  if ((result.fatal || result.task_failed || was_handed_over) && !state.ending_result) {
    state.ending_result = result;
    if (result.task_failed) {
      state.answer = std::make_shared<const std::string>(result.message);
    }
  }
  state.results.insert_or_assign(result.call_id, result);
  settle_calls(state);
}

void fold(State& state, const ToolsAdded& event) {
  for (const AddedTool& tool : event.tools) {
    if (state.added_names.insert(tool.name).second) {
      state.added_tools.push_back(tool);
      state.fixed_bytes += tool.bytes;
      state.new_bytes += tool.bytes;
    }
  }
}

// What is kept from the model of a sub-agent's result is not in the run's result either.
void withhold_error_of(State& state, const GuardrailRan& event) {
  const auto found = state.sub_agents.find({state.turns, event.call_id});
  const bool is_changed =
      event.action == "redact" || event.action == "deny" || event.action == "kill";
  if (found == state.sub_agents.end() || !is_changed || event.point != HookPoint::post_tool_use) {
    return;
  }
  if (auto& finished = found->second.record.finished; finished && finished->result.error) {
    Error& error = *finished->result.error;
    error.message = fmt::format("the guardrail `{}` keeps back what it says", event.guardrail);
    error.help.clear();
    error.cause.reset();
  }
}

void fold(State& state, const GuardrailRan& event) {
  withhold_error_of(state, event);
  if (event.text && event.point == HookPoint::stop) {
    state.answer = event.text->empty() ? nullptr : std::make_shared<const std::string>(*event.text);
  }
  if (event.text && event.point == HookPoint::run_start && state.prompt) {
    std::get<UserMessage>(state.conversation.messages.at(*state.prompt)).text = *event.text;
    show_again(state);
  }
  count_use_beside(state, event.judge);
}

// A list in at most so many bytes.
std::string listed(const auto& paths, std::string_view cwd, std::size_t most) {
  std::string text;
  std::size_t left = std::ranges::distance(paths);
  for (std::string_view path : paths) {
    if (text.size() + path.size() > most) {
      return fmt::format("{}\n- and {} more", text, left);
    }
    --left;
    if (path.starts_with(cwd) && path.size() > cwd.size() && path[cwd.size()] == '/') {
      path.remove_prefix(cwd.size() + 1);
    }
    text += fmt::format("\n- {}", path);
  }
  return text;
}

// What stays word for word beside the summary.
std::string notes_of(const State& state) {
  constexpr std::size_t k_longest_list = 3'000;
  std::string text;
  std::vector<std::string_view> read;
  for (const auto& [path, file] : state.seen_files) {
    if (!state.changed_files.contains(path)) {
      read.push_back(path);
    }
  }
  if (!read.empty()) {
    text += "\n\nFiles read so far:" + listed(read, state.cwd, k_longest_list);
  }
  if (!state.changed_files.empty()) {
    text += "\n\nFiles changed so far:" + listed(state.changed_files, state.cwd, k_longest_list);
  }
  for (const auto& [tool, result] : state.kept_results) {
    text += fmt::format("\n\nWhat {} said last:\n{}", tool, result);
  }
  return text;
}

void fold(State& state, const LimitWarning& event) {
  state.warned_limits.insert(event.limit);
}

void fold(State& state, const ContextCompacted& event) {
  if (event.action == "asked") {
    return;
  }
  count_use_beside(state, event.summarizer);
  if (event.reason == "overflow") {
    ++state.overflows;
    if (event.window > 0) {
      const auto [known, is_new] = state.least_refused.try_emplace(event.model, event.window);
      known->second = std::min(known->second, event.window);
    }
  }
  if (event.action == "failed") {
    ++state.failed_summaries;
    return;
  }
  state.view = view_after(state, event);
  show_again(state);
  state.last_usage = {.input = std::clamp<std::int64_t>(event.after, 0, k_most_tokens)};
  state.new_bytes = 0;
  if (event.action == "summarized") {
    state.failed_summaries = frees_enough(event) ? 0 : state.failed_summaries + 1;
  } else {
    state.failed_summaries = std::min(state.failed_summaries, 1);  // the next time, once
  }
}

void fold(State& state, const RunFinished& event) {
  state.finished = event.result;
}

// By the number of its call, which is that of one call of the run; of an earlier turn where what it
// had used becomes known later.
SubAgentRecord& sub_agent_of(State& state, const std::string& call_id, std::int64_t number) {
  const auto is_it = [&](const auto& entry) {
    return entry.first.second == call_id && entry.second.number == number;
  };
  auto found = state.sub_agents.find({state.turns, call_id});
  if (found == state.sub_agents.end() || !is_it(*found)) {
    found = std::ranges::find_if(state.sub_agents, is_it);
  }
  return found != state.sub_agents.end() ? found->second : state.sub_agents[{state.turns, call_id}];
}

MemberRecord& record_of(State& state, const MemberStarted& event) {
  if (event.call_id.empty()) {
    return state.members[{event.step, event.item.value_or(-1), event.round}];
  }
  SubAgentRecord& sub_agent = state.sub_agents[{state.turns, event.call_id}];
  sub_agent.member = event.member;
  sub_agent.number = event.item.value_or(0);
  return sub_agent.record;
}

MemberRecord& record_of(State& state, const MemberFinished& event) {
  if (event.call_id.empty()) {
    return state.members[{event.step, event.item.value_or(-1), event.round}];
  }
  SubAgentRecord& sub_agent = sub_agent_of(state, event.call_id, event.item.value_or(0));
  sub_agent.member = event.member;
  sub_agent.number = event.item.value_or(0);
  return sub_agent.record;
}

void fold(State& state, const MemberStarted& event) {
  record_of(state, event).run_id = event.run_id;
  if (event.kind == "handoff") {
    state.handed_over = event.call_id;
  }
}

// One that was carried on tells its whole bill once more: what is new of it counts.
// Turns and calls of a sub-agent are its own: the limits that count them are each agent's.
void fold(State& state, const MemberFinished& event) {
  MemberRecord& record = record_of(state, event);
  const RunResult before = record.finished ? std::move(record.finished->result) : RunResult();
  record.finished = event;
  if (event.call_id == state.handed_over && !event.call_id.empty()) {
    const std::string& text = event.result.text;
    state.answer = text.empty() ? nullptr : std::make_shared<const std::string>(text);
  }
  if (event.taken_from) {
    return;  // another run has paid for it
  }
  for (const ModelUse& use : uses_since(before.models, event.result.models)) {
    count_use(state, use);
  }
  state.denials += event.result.denials - before.denials;
  if (event.call_id.empty()) {
    state.turns += event.result.turns - before.turns;
    state.tool_calls += event.result.tool_calls - before.tool_calls;
  }
}

// What was done about an attempt or a call: the state changes by what came of it, or by the fold of
// the approvals.
template <typename Body>
concept IsNotFolded = IsOneOf<Body,
                              TurnStarted,
                              ModelRetrying,
                              ToolOutput,
                              ApprovalRequested,
                              ApprovalAnswered,
                              RunParked,
                              HookRan,
                              Warning>;

void fold(State&, const IsNotFolded auto&) {}

}  // namespace

void advance(State& state, const EventBody& event) {
  advance(state.approvals, event);
  std::visit([&](const auto& body) { fold(state, body); }, event);
}

std::int64_t estimated_input(const State& state) {
  return state.last_usage.total() + tokens_of(state.new_bytes);
}

std::int64_t estimated_input(const State& state, const ContextView& view) {
  const std::int64_t now = state.fixed_bytes + weight(seen_by_model(state).messages);
  const std::int64_t then = state.fixed_bytes + weight(seen(state.conversation.messages, view));
  const double share =
      static_cast<double>(then) / static_cast<double>(std::max<std::int64_t>(now, 1));
  return static_cast<std::int64_t>(static_cast<double>(estimated_input(state)) * share);
}

bool frees_enough(const ContextCompacted& event) {
  constexpr std::int64_t k_least = 5;  // one part of so many
  return event.after < event.before && event.after <= event.before - event.before / k_least;
}

ContextView view_after(const State& state, const ContextCompacted& event) {
  ContextView view = state.view;
  const auto& messages = state.conversation.messages;
  const auto place = static_cast<std::size_t>(
      std::clamp<std::int64_t>(event.messages, 0, static_cast<std::int64_t>(messages.size())));
  for (const std::int64_t number : event.results) {
    if (number >= 1 && std::cmp_less_equal(number, state.results_at.size())) {
      view.cleared.insert(number);
    }
  }
  if (event.action == "summarized") {
    view.summarized = boundary(messages, place);
    view.left_out = 0;
    view.summary = event.summary;
  } else if (event.action == "left_out") {
    view.left_out = boundary(messages, place);
  }
  // Of what is covered nothing is seen: the numbers would only grow.
  const auto first = std::ranges::lower_bound(state.results_at, view.covered());
  view.cleared.erase(view.cleared.begin(),
                     view.cleared.upper_bound(first - state.results_at.begin()));
  view.pinned = event.pinned;
  view.pinned_at = messages.size();
  view.reader = state.plan.context.reader;
  if (event.messages > 0) {
    view.notes = notes_of(state);
  }
  return view;
}

const SubAgentRecord* sub_agent_of_call(const State& state, std::string_view call_id) {
  const auto found = state.sub_agents.find({state.turns, std::string(call_id)});
  return found == state.sub_agents.end() ? nullptr : &found->second;
}

const MemberRecord* member_of_call(const State& state, std::string_view call_id) {
  const SubAgentRecord* const sub_agent = sub_agent_of_call(state, call_id);
  return sub_agent == nullptr ? nullptr : &sub_agent->record;
}

std::int64_t number_of_call(const State& state, std::string_view call_id) {
  const auto call = std::ranges::find(state.open_calls, call_id, &ToolCall::id);
  return call == state.open_calls.end() ? 0
                                        : state.calls_made - (state.open_calls.end() - call) + 1;
}

const MemberFinished* ended_after_handoff(const State& state) {
  const MemberRecord* member =
      state.handed_over.empty() ? nullptr : member_of_call(state, state.handed_over);
  return member != nullptr && member->finished ? &*member->finished : nullptr;
}

const MemberFinished* goes_on_with_other(const State& state, int exit_code) {
  const MemberFinished* const other = state.ending_result ? ended_after_handoff(state) : nullptr;
  const bool may_come_first =
      status_of(exit_code) == Status::cancelled || exit_code == row(Code::run_timeout).exit_code;
  const bool came_first =
      other != nullptr && may_come_first && other->result.exit_code != exit_code;
  return came_first ? nullptr : other;
}

bool has_waiting_calls(const State& state) {
  return std::ranges::any_of(state.open_calls, [&](const ToolCall& call) {
    return state.approvals.find(call.id) != nullptr && !state.results.contains(call.id);
  });
}

bool can_be_carried_on(const State& state, int exit_code) {
  const auto is_suspended = [](const MemberRecord& member) {
    return member.finished && member.finished->suspended;
  };
  const bool has_suspended =
      std::ranges::any_of(std::views::values(state.members), is_suspended) ||
      std::ranges::any_of(
          std::views::values(state.sub_agents), is_suspended, &SubAgentRecord::record);
  const bool is_for_now =
      exit_code == row(Code::cli_usage).exit_code || exit_code == row(Code::storage_io).exit_code;
  const bool is_flow = !state.members.empty();  // each of them has a record of its own
  return is_resumable(exit_code) || (is_for_now && (has_suspended || is_flow));
}

namespace {

// Those of sub-agents that have ended, in the order of the calls.
std::vector<MemberResult> members_of(const State& state) {
  std::vector<const MemberFinished*> ended;
  for (const auto& [key, sub_agent] : state.sub_agents) {
    if (sub_agent.record.finished) {
      ended.push_back(&*sub_agent.record.finished);
    }
  }
  std::ranges::sort(ended, {}, &MemberFinished::item);
  std::vector<MemberResult> members;
  for (const MemberFinished* member : ended) {
    members.push_back(member_result(member->member, member->result));
  }
  return members;
}

// Those of all that worked for the run, each once, by name.
std::vector<std::string> missing_servers_of(const State& state) {
  std::set<std::string> names(state.missing_servers.begin(), state.missing_servers.end());
  const auto add = [&](const MemberRecord& record) {
    if (record.finished) {
      const auto& missing = record.finished->result.missing_servers;
      names.insert(missing.begin(), missing.end());
    }
  };
  std::ranges::for_each(std::views::values(state.members), add);
  std::ranges::for_each(std::views::values(state.sub_agents), add, &SubAgentRecord::record);
  return {names.begin(), names.end()};
}

}  // namespace

bool lacks_its_rest(const State& state) {
  return state.answer != nullptr && state.answer_goes_on && state.unfinished.cut > 0;
}

RunResult make_result(const State& state, const Ending& ending) {
  RunResult result;
  result.members = members_of(state);
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
  result.missing_servers = missing_servers_of(state);
  if (state.answer != nullptr && (state.streaming.empty() || state.answer_goes_on)) {
    result.text = *state.answer;
  }
  result.text += state.streaming;
  const bool is_final = has_final_answer(result.exit_code);
  if (is_final && result.text.empty() && ending.error) {
    result.text = ending.error->message;
  }
  result.partial = !is_final && !result.text.empty();
  if (result.exit_code == 0 && state.output != nullptr) {
    result.output = result.text;
  } else if (const auto* other = ended_after_handoff(state); other && result.exit_code == 0) {
    result.output = other->result.output;
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
