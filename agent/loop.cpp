#include "agent/loop.h"

#include "agent/approval_desk.h"
#include "agent/call_ids.h"
#include "agent/compaction.h"
#include "agent/duration.h"
#include "agent/recorder.h"
#include "agent/sha256.h"
#include "agent/step.h"
#include "agent/summarizer.h"
#include "agent/text.h"
#include "agent/work_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <expected>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

namespace agent {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// Asks hooks and guardrails, if there are any, and records what they say.
class Interceptors final : public Budget {
 public:
  Interceptors(Interceptor* interceptor,
               const Budget* above,
               Recorder& recorder,
               std::string_view prompt)
      : interceptor_(interceptor), above_(above), recorder_(recorder), prompt_(prompt) {}

  bool are_there() const { return interceptor_ != nullptr; }

  HookDecision judge(HookContext hook_context, std::stop_token stop) {
    if (!are_there()) {
      return {};
    }
    recorder_.commit();  // they may run for long
    hook_context.turn = recorder_.state().turns;
    hook_context.prompt = prompt_;
    hook_context.budget = this;
    return interceptor_->judge(hook_context, record(), std::move(stop));
  }

  std::expected<std::optional<std::int64_t>, Ending> room_for(const Asking& asking) const override {
    auto room = agent::room_for(recorder_.state(), asking);
    return room ? room_above(asking, *room) : std::move(room);
  }

  // The least of `room`, which this run's own limits leave, and of what those above do.
  std::expected<std::optional<std::int64_t>, Ending> room_above(
      const Asking& asking, std::optional<std::int64_t> room) const {
    if (above_ == nullptr) {
      return room;
    }
    auto left = above_->room_for(asking);
    return left ? least(room, *left) : std::move(left);
  }

  void notify(std::string_view kind, std::string_view text, std::stop_token stop) {
    judge({.point = HookPoint::notification, .text = text, .kind = kind}, std::move(stop));
  }

  std::optional<Ending> killed() {
    auto error = interceptor_ != nullptr ? interceptor_->killed() : std::nullopt;
    return error ? std::optional(Ending{.error = std::move(error)}) : std::nullopt;
  }

 private:
  Emit record() {
    return [this](EventBody body) { recorder_.record(std::move(body)); };
  }

  Interceptor* interceptor_;
  const Budget* above_;
  Recorder& recorder_;
  std::string_view prompt_;
};

bool is_idempotent(const Toolbox& toolbox, std::string_view tool) {
  const auto tools = toolbox.tools();
  const auto found = std::ranges::find(tools, tool, &ToolInfo::name);
  return found != tools.end() && found->idempotent;
}

// Of what ends a run while calls of it go on later: that somebody is to be asked is the weakest.
int strength_of(const Ending& ending) {
  const auto code = ending.error ? ending.error->code : Code::internal;
  return is_meant_for_all(code)                     ? 3
         : code == Code::tool_confirmation_required ? 0
         : code == Code::durable_signal_timeout     ? 1
                                                    : 2;
}

class RecordingWatcher final : public ToolWatcher {
 public:
  RecordingWatcher(Recorder& recorder,
                   Interceptors& interceptors,
                   ApprovalDesk& desk,
                   const Toolbox& toolbox,
                   std::stop_token stop)
      : recorder_(recorder),
        interceptors_(interceptors),
        desk_(desk),
        toolbox_(toolbox),
        stop_(std::move(stop)),
        was_parked_(!recorder.state().approvals.parked.empty()) {}

  HookDecision judge(const ToolCall& call) override {
    if (auto denial = desk_.denial(call.id)) {
      return {.refusal = std::move(denial)};
    }
    HookDecision decision = interceptors_.judge(
        {.point = HookPoint::pre_tool_use, .text = call.arguments, .call = &call}, stop_);
    note(decision);
    if (decision.refusal && stop_.stop_requested()) {  // who looks may have been stopped
      decision.ending = Error{.code = Code::run_cancelled,
                              .message =
                                  "the run was stopped before hooks and guardrails had "
                                  "looked at it",
                              .help = {}};
    }
    context_.insert_or_assign(call.id, decision.context);
    return decision;
  }

  Answer ask(const ApprovalRequest& request) override { return desk_.ask(request, stop_); }

  void parked(std::span<const ApprovalRequest> requests,
              std::span<const WaitingCall> others,
              const Error& why) override {
    parked_ = desk_.park(requests, others, why);
  }

  bool started(const ToolCall& call) override {
    if (!ending_) {
      ending_ = interceptors_.killed();
      is_switched_off_ = ending_.has_value();
    }
    if (ending_) {
      return false;
    }
    recorder_.record(ToolStarted{.turn = recorder_.state().turns,
                                 .call_id = call.id,
                                 .name = call.name,
                                 .arguments = call.arguments,
                                 .arguments_sha256 = call.arguments_sha256});
    recorder_.commit();
    begun_.insert(call.id);
    if (interceptors_.are_there()) {
      started_.insert_or_assign(call.id, call);  // for them: it may be large
    }
    return !recorder_.failure();
  }

  void output(const ToolCall& call, std::string_view chunk) override {
    recorder_.record(ToolOutput{.call_id = call.id, .text = std::string(chunk)});
  }

  void finished(const ToolResult& result) override {
    if (goes_on_later(result)) {
      return;
    }
    const State& state = recorder_.state();
    auto to_read = judged(result);
    if (!to_read) {
      return;
    }
    recorder_.record(ToolFinished{.turn = state.turns, .result = *std::move(to_read)});
    if (!state.open_calls.empty()) {
      recorder_.commit();  // the others may run for long
    }
  }

  bool began(const MemberStarted& member) override {
    recorder_.record(member);
    recorder_.commit();  // what it is paid for is looked for by this
    return !recorder_.failure();
  }

  void ended(const MemberFinished& member) override {
    recorder_.record(member);
    recorder_.commit();
  }

  SubAgentRecord sub_agent(std::string_view call_id) const override {
    const State& state = recorder_.state();
    const SubAgentRecord* begun = sub_agent_of_call(state, call_id);
    return begun != nullptr ? *begun : SubAgentRecord{.number = number_of_call(state, call_id)};
  }

  void suspended(const ToolCall& call, const Ending& why) override {
    suspended_.insert(call.id);
    if (!put_off_ || strength_of(why) > strength_of(*put_off_)) {
      put_off_ = why;
    }
  }

  Conversation conversation() const override { return seen_by_model(recorder_.state()); }

  void added(std::span<const AddedTool> tools, std::string_view reason) override {
    recorder_.record(ToolsAdded{.turn = recorder_.state().turns,
                                .reason = std::string(reason),
                                .tools = {tools.begin(), tools.end()}});
  }

  std::optional<std::string> earlier_result(std::int64_t number) override {
    const State& state = recorder_.state();
    if (number < 1 || std::cmp_greater(number, state.results_at.size())) {
      return std::nullopt;
    }
    const std::size_t at = state.results_at[static_cast<std::size_t>(number) - 1];
    return std::get<ToolMessage>(state.conversation.messages[at]).content;
  }

  // What hooks or guardrails end the run with; or else that calls wait for a yes, or go on with the
  // run, where none of the others was the end of it.
  std::optional<Ending> ending() const {
    if (ending_ || parked_) {
      return ending_ ? ending_ : parked_;
    }
    return is_over() ? std::nullopt : put_off_;
  }
  // Calls that go on when the run does.
  std::set<std::string> suspended_calls() const {
    return is_over() ? std::set<std::string>() : suspended_;
  }
  // By the kill switch, before a call began.
  bool is_switched_off() const { return is_switched_off_; }

 private:
  // A call that is `fatal` was among them.
  bool is_over() const { return recorder_.state().ending_result.has_value(); }

  // A call that the end of the run has kept from beginning, or cut off where it may run once more,
  // has no result: it runs where the run is carried on. What hooks and guardrails end a run with is
  // the end also of calls that have no earlier life.
  bool goes_on_later(const ToolResult& result) const {
    if (result.code != Code::tool_cancelled) {
      return false;
    }
    if (begun_.contains(result.call_id)) {
      return stop_.stop_requested() && is_idempotent(toolbox_, result.name);
    }
    const bool has_earlier_life =
        was_parked_ || recorder_.state().started_calls.contains(result.call_id);
    return stop_.stop_requested() || is_switched_off_ ||
           (has_earlier_life && (ending_ || put_off_));
  }

  void note(const HookDecision& decision) {
    if (decision.ending && !ending_) {
      ending_ = Ending{.error = decision.ending, .stop = decision.stop};
    }
  }

  // Nobody has looked at what was cut out of it.
  static void withhold_whole(ToolResult& result) {
    std::error_code error;
    std::filesystem::remove(result.full_output, error);
    result.full_output.clear();
    result.content += "\n[the whole of it is withheld, too]";
  }

  // As the model is to read it. nullopt: the run was stopped before all had looked at it, and the
  // call may run once more.
  std::optional<ToolResult> judged(ToolResult result) {
    std::vector<std::string> context = std::exchange(context_[result.call_id], {});
    if (const auto call = started_.find(result.call_id); call != started_.end()) {
      HookDecision decision = interceptors_.judge({.point = HookPoint::post_tool_use,
                                                   .text = result.content,
                                                   .call = &call->second,
                                                   .result = &result},
                                                  stop_);
      note(decision);
      if (decision.refusal && stop_.stop_requested()) {
        if (is_idempotent(toolbox_, result.name)) {
          return std::nullopt;
        }
        decision.refusal =
            "the call has ended, and the run was stopped before hooks and guardrails had looked at "
            "its result";
      }
      if (decision.refusal || decision.ending) {
        result.content = "[withheld: " + decision.refusal.value_or(decision.ending->message) + "]";
      } else if (decision.text) {
        result.content = *std::move(decision.text);
      }
      if (!result.full_output.empty() && (decision.refusal || decision.ending || decision.text)) {
        withhold_whole(result);
      }
      if (result.code && !result.fatal && (decision.refusal || decision.ending || decision.text)) {
        result.message = "the call failed; why is in its result, as hooks and guardrails leave it";
        result.help.clear();
      }
      std::ranges::move(decision.context, std::back_inserter(context));
    }
    for (const std::string& more : context) {
      result.content += (result.content.empty() ? "" : "\n") + more;
    }
    return result;
  }

  Recorder& recorder_;
  Interceptors& interceptors_;
  ApprovalDesk& desk_;
  const Toolbox& toolbox_;
  std::stop_token stop_;
  const bool was_parked_;        // with calls of this reply
  std::set<std::string> begun_;  // calls, by this process
  std::map<std::string, ToolCall> started_;
  std::map<std::string, std::vector<std::string>> context_;  // by call id
  std::optional<Ending> ending_;
  bool is_switched_off_ = false;  // that is why
  std::optional<Ending> parked_;
  std::optional<Ending> put_off_;
  std::set<std::string> suspended_;
};

// How long what looks at a run's end may take: until the run is stopped, or, where it was stopped
// before, for a little longer.
class EndingTime {
 public:
  EndingTime(Clock& clock, const Cancellation& cancellation)
      : killed_(cancellation.kill(), Stopper{ending_}) {
    if (!cancellation.stop().stop_requested()) {
      stopped_.emplace(cancellation.stop(), Stopper{ending_});
      return;
    }
    watcher_ = std::jthread([&clock, ending = ending_](std::stop_token done) mutable {
      constexpr Milliseconds k_grace{10'000};
      if (clock.sleep_for(k_grace, std::move(done))) {
        ending.request_stop();
      }
    });
  }

  std::stop_token stop() const { return ending_.get_token(); }

 private:
  struct Stopper {
    std::stop_source ending;
    void operator()() { ending.request_stop(); }
  };

  std::stop_source ending_;
  std::stop_callback<Stopper> killed_;
  std::optional<std::stop_callback<Stopper>> stopped_;
  std::jthread watcher_;
};

std::int64_t milliseconds_since(Clock::Steady start, const Clock& clock) {
  return std::chrono::duration_cast<Milliseconds>(clock.now() - start).count();
}

// What the run is about, which is what it was begun with.
std::string_view first_prompt(const RunRequest& request) {
  const auto& messages = request.past.state.conversation.messages;
  return messages.empty() ? std::string_view(request.started.prompt)
                          : std::string_view(std::get<UserMessage>(messages.front()).text);
}

class Run {
 public:
  Run(const RunRequest& request, const Ports& ports, Cancellation& cancellation)
      : request_(request),
        ports_(ports),
        cancellation_(cancellation),
        recorder_(request.run_id,
                  request.past,
                  {.sinks = ports.sinks,
                   .journal = ports.journal,
                   .clock = ports.clock,
                   .parent = request.parent}),
        interceptors_(ports.interceptor, ports.above, recorder_, first_prompt(request)),
        time_(Milliseconds{request.started.worked_ms}, ports.clock, cancellation),
        desk_(
            request,
            ports,
            recorder_,
            [this](std::string_view text) {
              interceptors_.notify("permission_prompt", text, cancellation_.stop());
            },
            time_) {}

  // Where the machine runs out of memory or threads, what was paid for until then is still told.
  RunResult perform() {
    try {
      return go();
    } catch (const std::exception& exception) {
      return finish_short_of(exception);
    }
  }

 private:
  using Done = std::expected<void, Ending>;

  // What had come of an answer may be what there is no room for.
  RunResult finish_short_of(const std::exception& exception) {
    const Ending ending{.error = error_of(exception)};
    if (!is_finishing_) {
      try {
        return finish(ending);
      } catch (const std::exception&) {  // again
      }
    }
    recorder_.forget_streaming();
    RunResult result = make_result(recorder_.state(), ending);
    std::string().swap(result.text);
    result.partial = false;
    result.run_id = request_.run_id;
    result.duration_ms = worked_ms();
    tell_the_way_on(result);
    recorder_.finish(result, []() { return std::nullopt; });
    return result;
  }

  RunResult go() {
    if (const auto limit = time_limit()) {
      time_.end_after(*limit);
    }
    Done done = start();
    while (done) {
      if (auto ending = interruption()) {
        return finish(*ending);
      }
      done = perform(next_step());
    }
    return finish(interruption().value_or(std::move(done).error()));
  }

  // Its own, or what is left of that of those above, whichever comes first.
  std::optional<Milliseconds> time_limit() const {
    const auto& own = request_.started.plan.limits.timeout;
    return !request_.time_above ? own : !own ? limit_above() : std::min(*own, limit_above());
  }

  Milliseconds limit_above() const {
    return Milliseconds{request_.started.worked_ms} + request_.time_above->left;
  }

  bool is_over_above() const { return request_.time_above && time_.worked() >= limit_above(); }

  // With the tools as they are now, where the model is asked next: they count for what fits.
  Step next_step() {
    const State& state = recorder_.state();
    Step step = next(state);
    if (std::holds_alternative<AskModel>(step) && take_tool_news()) {
      step = next(state);
    }
    return std::holds_alternative<AskModel>(step) && may_wrap_up(state) && is_nearly_over()
               ? wrap_up(state, Code::run_timeout)
               : step;
  }

  // Of the time, only the share for the last turn is left.
  bool is_nearly_over() const {
    const auto& timeout = request_.started.plan.limits.timeout;
    return timeout && time_.worked() >= *timeout - *timeout / k_kept_share;
  }

  // Once a turn. False: there was nothing.
  bool take_tool_news() {
    const std::int64_t turn = recorder_.state().turns;
    if (std::exchange(news_after_, turn) == turn) {
      return false;
    }
    ToolNews news = ports_.toolbox.take_news(cancellation_.stop());
    for (std::string& sentence : news.warnings) {
      warn({.message = std::move(sentence), .help = {}, .kind = "mcp_server"});
    }
    if (news.added.empty()) {
      return false;
    }
    recorder_.record(ToolsAdded{.turn = turn, .reason = "listed", .tools = std::move(news.added)});
    return true;
  }

  Done perform(Step step) {
    return std::visit(Overloaded{[&](AskModel& ask) { return ask_model(ask); },
                                 [&](RunTools& run) { return run_tools(run); },
                                 [&](RefuseTools& refuse) { return refuse_tools(refuse); },
                                 [&](RunCheck& check) { return run_check(check); },
                                 [&](SendBack& back) { return send_back(back); },
                                 [&](Say& say) { return note(std::move(say.message)); },
                                 [&](Warn& warn) { return warn_of(std::move(warn.warning)); },
                                 [&](Compact& pass) { return compact(std::move(pass.plan)); },
                                 [&](Finish& end) { return end_with(std::move(end.ending)); }},
                      step);
  }

  std::int64_t worked_ms() const { return time_.worked().count(); }

  Done start() {
    recorder_.record(request_.started);
    for (const Warning& warning : request_.warnings) {
      warn(warning);
    }
    settle_interrupted_calls();
    if (auto ending = desk_.overdue()) {
      close_overdue_calls();
      return std::unexpected(*std::move(ending));
    }
    return judge_beginning();
  }

  // With what stands before the prompt, of which nothing can be taken out.
  Done judge_beginning() {
    const RunStarted& started = request_.started;
    std::string text;
    for (const OpeningMessage& opening : started.opening) {
      text += opening.text + "\n\n";
    }
    const bool has_opening = !text.empty();
    HookDecision decision = interceptors_.judge(
        {.point = HookPoint::run_start, .text = text += started.prompt}, cancellation_.stop());
    if (has_opening && decision.text && !decision.ending) {
      decision.ending = Error{.code = Code::guardrail_denied,
                              .message =
                                  "a guardrail would change what the run begins with, which "
                                  "is a prompt of several messages",
                              .help = {}};
    }
    return heed(std::move(decision));
  }

  // Nothing is sent while a provider is known to be down, or has asked for a pause.
  void stand_still_at(const EventBody& body) {
    const auto* retrying = std::get_if<ModelRetrying>(&body);
    if (retrying != nullptr && is_for_want_of_a_model(retrying->error)) {
      time_.stand_still_for(retrying->delay);
    }
  }

  // The calls that the process before did not see the end of. One that had begun runs once more
  // where that does no harm; none does where the user has said something new.
  void settle_interrupted_calls() {
    const State& state = recorder_.state();
    const bool has_news = state.next_message.has_value();
    std::vector<ToolCall> unsettled;  // the last result lets go of what is known of the others
    std::ranges::copy_if(state.open_calls,
                         std::back_inserter(unsettled),
                         [&](const ToolCall& call) { return !state.results.contains(call.id); });
    const std::set<std::string> stopped = calls_of_stopped_members();
    for (const MemberFinished& member : request_.left_off) {
      recorder_.record(member);
    }
    for (const ToolCall& call : unsettled) {
      if (request_.answered.contains(call.id)) {
        continue;
      }
      const auto started = state.started_calls.find(call.id);
      if (started == state.started_calls.end()) {
        if (has_news) {
          leave_out(call, "the user said something else before this call");
        } else if (call.arguments.contains(k_redacted)) {
          leave_out(call, "a secret in its arguments is not in the journal; make it again");
        }
      } else if (has_news && stopped.contains(call.id)) {
        leave_member(call, started->second);
      } else if (has_news || !is_idempotent(ports_.toolbox, started->second) ||
                 call.arguments.contains(k_redacted)) {
        record_interrupted(call, started->second);
      }
    }
  }

  // Whose sub-agents waited, or were stopped, as the record knows it.
  std::set<std::string> calls_of_stopped_members() const {
    const State& state = recorder_.state();
    std::set<std::string> ids;
    for (const ToolCall& call : state.open_calls) {
      const MemberRecord* member = member_of_call(state, call.id);
      if (member != nullptr && member->finished) {
        ids.insert(call.id);
      }
    }
    return ids;
  }

  void leave_member(const ToolCall& call, const std::string& name) {
    recorder_.record(ToolFinished{
        .turn = recorder_.state().turns,
        .result = {.call_id = call.id,
                   .name = name,
                   .content = "[not finished: the user said something else before it was done. "
                              "What it did until then stands.]",
                   .status = ToolStatus::failed,
                   .code = Code::tool_cancelled,
                   .message = "the user said something else before it was done"}});
  }

  void record_interrupted(const ToolCall& call, const std::string& name) {
    recorder_.record(ToolFinished{
        .turn = recorder_.state().turns,
        .result = {.call_id = call.id,
                   .name = name,
                   .content = "[tool.interrupted: the program ended while this call ran. Whether "
                              "it took effect is not known: look before you call it again.]",
                   .status = ToolStatus::failed,
                   .code = Code::tool_interrupted,
                   .message = "the process ended while the call ran"}});
  }

  void leave_out(const ToolCall& call, const std::string& why) {
    recorder_.record(ToolFinished{.turn = recorder_.state().turns,
                                  .result = {.call_id = call.id,
                                             .name = call.name,
                                             .content = "[not run: " + why + "]",
                                             .status = ToolStatus::not_run,
                                             .code = Code::tool_cancelled,
                                             .message = why}});
  }

  void warn(const Warning& warning) {
    recorder_.record(warning);
    interceptors_.notify("warning", warning.message, cancellation_.stop());
  }

  // The ending of a decision, if there is one; what it adds is for the model to read.
  Done heed(HookDecision decision) {
    for (std::string& more : decision.context) {
      recorder_.record(UserSaid{.text = std::move(more), .reason = "hook"});
    }
    if (decision.ending) {
      return std::unexpected(
          Ending{.error = std::move(decision.ending), .stop = std::move(decision.stop)});
    }
    return {};
  }

  // An answer, be it that the task failed, goes by hooks and guardrails before anybody reads it.
  Done end_with(Ending ending) {
    if (ending.error && ending.error->code != Code::run_task_failed) {
      tell_time(ending);
      return std::unexpected(std::move(ending));
    }
    const State& state = recorder_.state();
    const auto times = [&](std::string_view reason) {
      const auto said = state.said.find(reason);
      return said == state.said.end() ? 0 : said->second;
    };
    const auto answer = state.answer;  // a guardrail's event changes the state's own
    HookDecision decision = interceptors_.judge({.point = HookPoint::stop,
                                                 .text = answer ? *answer : std::string_view(),
                                                 .again = times("sent_on") > 0,
                                                 .denials = times("denied")},
                                                cancellation_.stop());
    if (decision.ending) {
      is_withheld_ = true;
      return heed(std::move(decision));
    }
    if (decision.refusal && interruption()) {
      return {};  // who looks for it may have been stopped: the next process asks again
    }
    if (decision.refusal) {
      close_open_calls();
      return note(UserSaid{.text = *std::move(decision.refusal),
                           .reason = decision.is_denial ? "denied" : "sent_on"});
    }
    is_approved_ = true;
    if (state.answer != answer) {  // what is left of it may be another ending
      ending = ending_of_answer(state);
    }
    return std::unexpected(std::move(ending));
  }

  Done warn_of(LimitWarning warning) {
    const std::string text =
        fmt::format("{} of {} used of {}", warning.used, warning.max, warning.limit);
    recorder_.record(std::move(warning));
    interceptors_.notify("limit_warning", text, cancellation_.stop());
    return {};
  }

  Done note(EventBody body) {
    recorder_.record(std::move(body));
    return {};
  }

  Done ask_model(const AskModel& ask) {
    const State& state = recorder_.state();
    if (auto ending = interceptors_.killed()) {
      return std::unexpected(*std::move(ending));
    }
    if (auto done = heed(interceptors_.judge(
            {.point = HookPoint::pre_model, .conversation = &seen_by_model(state)},
            cancellation_.stop()));
        !done) {
      return done;
    }
    const auto most = interceptors_.room_above(next_request(state), ask.max_output_tokens);
    if (!most) {
      return std::unexpected(most.error());
    }
    const std::int64_t turn = state.turns + 1;
    recorder_.record(TurnStarted{.turn = turn});
    recorder_.record(
        ModelRequested{.turn = turn,
                       .model = request_.started.model,
                       .messages = static_cast<std::int64_t>(seen_by_model(state).messages.size()),
                       .estimated_input = estimated_input(state),
                       .max_output_tokens = *most});
    recorder_.commit();
    if (recorder_.failure()) {
      return std::unexpected(Ending{.error = recorder_.failure()});
    }
    const auto start = ports_.clock.now();
    std::stop_source stop;
    const std::stop_callback forward(cancellation_.stop(), [&stop] { stop.request_stop(); });
    ModelRequest request{.instructions = request_.started.instructions,
                         .tools = tools_of_request(),
                         .conversation = seen_by_model(state),
                         .max_output_tokens = *most,
                         .tool_choice = tool_choice(state),
                         .output_schema = state.plan.output_schema};
    std::optional<Ending> at_limit;
    auto reply = ports_.provider.complete(
        request,
        [&](EventBody body) {
          const bool is_tried_again = asks_again(body);
          stand_still_at(body);
          recorder_.record(std::move(body));
          recorder_.commit();
          if (is_tried_again && !at_limit) {
            at_limit = limits_again(request);
          }
          if (at_limit || recorder_.failure()) {
            stop.request_stop();  // nobody would see the rest, and it is paid for
          }
        },
        stop.get_token());
    if (!reply && reply.error().code == Code::context_overflow && state.overflows == 0) {
      if (auto plan = compaction_after_overflow(state)) {
        return compact(*std::move(plan));
      }
    }
    if (!reply) {
      return std::unexpected(at_limit              ? *std::move(at_limit)
                             : recorder_.failure() ? Ending{.error = recorder_.failure()}
                                                   : Ending{.error = std::move(reply).error()});
    }
    give_own_ids(*reply, [&](std::string_view id) {
      return (!ports_.keeps_whole || ports_.keeps_whole(id)) &&
             !state.approvals.has_waited.contains(id);
    });
    for (ToolCall& call : reply->tool_calls) {
      call.arguments = as_recorded(call.arguments);
      call.arguments_sha256 = sha256_hex(call.arguments);
    }
    const bool is_news = reply->estimated && !state.has_estimates;
    const EventBody body =
        recorder_.record(ModelResponded{.turn = turn,
                                        .reply = *std::move(reply),
                                        .duration_ms = milliseconds_since(start, ports_.clock)});
    const Reply& responded = *std::get<ModelResponded>(body).reply;
    if (is_news) {
      warn(estimate_warning(responded));
    }
    return heed(interceptors_.judge({.point = HookPoint::post_model,
                                     .text = responded.text,
                                     .conversation = &seen_by_model(state),
                                     .reply = &responded},
                                    cancellation_.stop()));
  }

  // Those that were added stand behind the others: what came before them stays as it was sent.
  std::span<const ToolInfo> tools_of_request() {
    const std::vector<AddedTool>& added = recorder_.state().added_tools;
    const std::span<const ToolInfo> offered = ports_.toolbox.tools();
    if (added.empty()) {
      return offered;
    }
    if (added.size() != added_so_far_) {
      tools_.assign(offered.begin(), offered.end());
      std::ranges::move(ports_.toolbox.added_tools(added), std::back_inserter(tools_));
      added_so_far_ = added.size();
    }
    return tools_;
  }

  // One step by which the model sees less.
  Done compact(ContextCompacted pass) {
    if (auto ending = interceptors_.killed()) {
      return std::unexpected(*std::move(ending));
    }
    const State& state = recorder_.state();
    if (auto done = heed(interceptors_.judge({.point = HookPoint::pre_compact,
                                              .text = pass.action,
                                              .conversation = &seen_by_model(state)},
                                             cancellation_.stop()));
        !done) {
      return done;
    }
    const auto start = ports_.clock.now();
    pass.before = estimated_input(state);
    pass.pinned = ports_.pinned ? ports_.pinned() : std::vector<PinnedFile>();
    if (pass.action == "summarized") {
      const bool is_own = ports_.summarizer == nullptr;
      ContextCompacted asked = pass;
      asked.action = "asked";
      asked.after = asked.before;
      asked.pinned.clear();
      recorder_.record(std::move(asked));
      recorder_.commit();
      sum_up(pass,
             state,
             {.provider = is_own ? ports_.provider : *ports_.summarizer,
              .is_own = is_own,
              .budget = interceptors_,
              .clock = ports_.clock,
              .emit = [&](EventBody body) { recorder_.record(std::move(body)); },
              .question = question_},
             cancellation_.stop());
    }
    pass.after =
        pass.action == "failed" ? pass.before : estimated_input(state, view_after(state, pass));
    pass.duration_ms = milliseconds_since(start, ports_.clock);
    if (!cancellation_.stop().stop_requested() || pass.summarizer) {
      recorder_.record(std::move(pass));
      recorder_.commit();  // it may have been paid for
    }
    return {};
  }

  // -1 is what no number can be made of.
  static std::string counts_of(const Usage& usage) {
    const auto count = [](std::int64_t tokens) {
      return tokens == -1 ? std::string("no number") : std::to_string(tokens);
    };
    const auto cached = [&](std::int64_t tokens, std::string_view how) {
      return tokens == 0 ? std::string() : fmt::format(", {} {}", count(tokens), how);
    };
    return fmt::format("{} in{}{}, {} out{}",
                       count(usage.input),
                       cached(usage.cache_read, "of them from the cache"),
                       cached(usage.cache_write, "into the cache"),
                       count(usage.output),
                       cached(usage.reasoning, "of reasoning"));
  }

  static Warning estimate_warning(const Reply& reply) {
    return {
        .message = fmt::format("the token counts from {} cannot be right ({}): they are estimated "
                               "from the bytes ({})",
                               reply.origin.empty() ? "the model" : "`" + reply.origin + "`",
                               counts_of(reply.usage),
                               counts_of(*reply.estimated)),
        .help =
            "Limits and costs go by the estimate, `estimated` in the event "
            "`model.responded`."};
  }

  // Attempts that failed may have used up what a limit leaves, and another model may be dearer: the
  // next attempt may say less, or nothing comes of it.
  std::optional<Ending> limits_again(ModelRequest& request) {
    for (;;) {
      Step step = next_try(recorder_.state());
      if (auto* warn = std::get_if<Warn>(&step)) {
        recorder_.record(std::move(warn->warning));
        continue;
      }
      if (const auto* ask = std::get_if<AskModel>(&step)) {
        const auto most =
            interceptors_.room_above(next_request(recorder_.state()), ask->max_output_tokens);
        if (!most) {
          return most.error();
        }
        request.max_output_tokens = *most;
      }
      auto* end = std::get_if<Finish>(&step);
      return end != nullptr ? std::optional(std::move(end->ending)) : std::nullopt;
    }
  }

  Done refuse_tools(const RefuseTools& step) {
    const std::vector<ToolCall> calls(step.calls.begin(), step.calls.end());  // they are let go of
    for (const ToolCall& call : calls) {
      leave_out(call, std::string(step.why));
    }
    return {};
  }

  // One that was cut off has found nothing.
  Done run_check(const RunCheck& step) {
    if (auto ending = interceptors_.killed()) {
      return std::unexpected(*std::move(ending));
    }
    recorder_.commit();  // what was paid for until now, it may run for long
    CheckRan ran = ports_.checker->run(step.index, cancellation_.stop(), cancellation_.kill());
    if (!cancellation_.stop().stop_requested()) {
      ran.turn = recorder_.state().turns;
      ran.attempt = step.attempt;
      recorder_.record(std::move(ran));
      recorder_.commit();
    }
    return {};
  }

  Done send_back(const SendBack& back) {
    return note(UserSaid{.text = ports_.checker->told(back.failed), .reason = "checks_failed"});
  }

  Done run_tools(const RunTools& step) {
    RecordingWatcher watcher(recorder_, interceptors_, desk_, ports_.toolbox, cancellation_.stop());
    ports_.toolbox.run(step.calls, watcher, cancellation_.stop(), cancellation_.kill());
    suspended_ = watcher.suspended_calls();
    is_killed_ = watcher.ending().has_value();
    is_switched_off_ = watcher.is_switched_off();
    return watcher.ending() ? Done(std::unexpected(*watcher.ending())) : Done();
  }

  // How much of it was used, where the last turn is that of the time.
  void tell_time(Ending& ending) const {
    const auto& timeout = request_.started.plan.limits.timeout;
    if (ending.error->code == Code::run_timeout && ending.stop && timeout) {
      ending.stop->used = static_cast<double>(worked_ms()) / 1000;
      ending.stop->max = static_cast<double>(timeout->count()) / 1000;
    }
  }

  // What ends the run from outside, the strongest first; nothing: it goes on.
  std::optional<Ending> interruption() const {
    if (const int signal = cancellation_.signal_number(); signal != 0) {
      return Ending{.error = Error{.code = Code::run_cancelled,
                                   .message = fmt::format("the run was ended by {}", name(signal)),
                                   .help = {}},
                    .signal = signal};
    }
    if (recorder_.failure()) {
      return Ending{.error = recorder_.failure()};
    }
    if (auto ending = cancellation_.ending()) {
      return ending;
    }
    if (cancellation_.is_expired() && is_over_above()) {
      return request_.time_above->ending;
    }
    if (cancellation_.is_expired()) {
      const auto timeout = request_.started.plan.limits.timeout.value_or(Milliseconds{0});
      const auto seconds = [](std::int64_t ms) { return static_cast<double>(ms) / 1000; };
      return stopped_at(Code::run_timeout,
                        // What came before the run counts, too, with --timeout.
                        seconds(std::max(worked_ms(), timeout.count())),
                        seconds(timeout.count()),
                        "the run took longer than " + format_duration(timeout));
    }
    return std::nullopt;
  }

  static std::string_view name(int signal) {
    switch (signal) {
      case SIGINT:
        return "SIGINT";
      case SIGHUP:
        return "SIGHUP";
      case SIGPIPE:
        return "SIGPIPE";
      default:
        return "SIGTERM";
    }
  }

  // Every call of the last reply has one result, also those that an ending kept from running; but
  // for those that a process has begun and the next one goes on with.
  void close_open_calls() {
    for (const ToolCall& call : calls_to_close()) {
      leave_out(call, "the run ended before this call");
    }
  }

  // A no that was given in time is one all the same: the toolbox says it, and runs nothing.
  void close_overdue_calls() {
    std::set<std::string> waiting;
    for (const ParkedCall* call : recorder_.state().approvals.pending()) {
      waiting.insert(call->request.call.id);
    }
    std::vector<ToolCall> denied;
    for (const ToolCall& call : calls_to_close()) {
      if (desk_.denial(call.id)) {
        denied.push_back(call);
      } else {
        leave_out(call,
                  waiting.contains(call.id)
                      ? "nobody approved the calls of this reply in time"
                      : "another call of this reply was not approved in time");
      }
    }
    if (!denied.empty()) {
      RecordingWatcher watcher(
          recorder_, interceptors_, desk_, ports_.toolbox, cancellation_.stop());
      ports_.toolbox.run(denied, watcher, cancellation_.stop(), cancellation_.kill());
    }
  }

  std::vector<ToolCall> calls_to_close() const {
    const State& state = recorder_.state();
    std::vector<ToolCall> calls;
    std::ranges::copy_if(state.open_calls, std::back_inserter(calls), [&](const ToolCall& call) {
      return !state.results.contains(call.id) && !suspended_.contains(call.id) &&
             !state.started_calls.contains(call.id);
    });
    return calls;
  }

  // Calls that wait stay open, and so do those behind one that goes on with the run, and those that
  // the run's being stopped has kept from running, the kill switch, or a limit of them that can be
  // raised.
  bool leaves_calls_open(const Ending& ending) const {
    const Approvals& approvals = recorder_.state().approvals;
    return approvals.are_pending() || !suspended_.empty() ||
           (ending.error && ending.error->code == Code::run_tool_call_limit) ||
           cancellation_.stop().stop_requested() || is_switched_off_ ||
           (!approvals.parked.empty() && is_killed_);
  }

  // What a run that ended early has of an answer goes the way of an answer: not past a guardrail.
  void guard_text(RunResult& result, const EndingTime& time) {
    if (is_withheld_) {
      result.text.clear();
      result.partial = false;
    } else if (!is_approved_ && !result.text.empty()) {
      HookDecision decision = interceptors_.judge(
          {.point = HookPoint::stop, .text = result.text, .is_partial = true}, time.stop());
      const bool is_refused = decision.refusal || decision.ending;
      result.text = is_refused ? "" : decision.text.value_or(result.text);
      result.partial = result.partial && !is_refused;
      if ((is_refused || decision.text) && result.error &&
          result.error->code == Code::output_invalid) {  // it quotes the answer
        result.error->message =
            "the answer does not fit `output.schema`; a guardrail keeps back why";
      }
    }
  }

  void tidy_up() {
    for (Leftover& left : ports_.toolbox.tidy_up()) {
      warn({.message = left.sentence, .help = {}});
      left_.push_back(std::move(left));
    }
  }

  std::optional<Ending> ended_by_left() const {
    const Leftover* const why = what_ends(left_);
    return why != nullptr ? std::optional(Ending{.error = error_of(*why)}) : std::nullopt;
  }

  // Calls of its own that wait are answered before those of a member.
  void tell_the_way_on(RunResult& result) const {
    const Approvals& approvals = recorder_.state().approvals;
    const Limits& limits = request_.started.plan.limits;
    if (result.stop && approvals.are_pending()) {
      result.stop->run_id.clear();
    }
    if (!recorder_.failure() && can_be_carried_on(recorder_.state(), result.exit_code)) {
      result.resume_cmd = approving_command(
          resume_command(request_.resume, result, limits), request_.run_id, approvals);
    }
    if (!cancellation_.ending() && !is_over_above()) {
      tell_of_member(result, request_.resume);
      tell_whose_stop(result, limits);
    }
  }

  RunResult finish(const Ending& ending) {
    is_finishing_ = true;
    desk_.settle_unused_answers();
    if (!leaves_calls_open(ending)) {
      close_open_calls();
    }
    tidy_up();
    const bool is_well = exit_code(ending) == 0;
    RunResult result =
        make_result(recorder_.state(), is_well ? ended_by_left().value_or(ending) : ending);
    recorder_.end_conversation();
    if (ports_.last_words &&
        (result.exit_code == 0 || status_of(result.exit_code) == Status::failed)) {
      for (Warning& warning : ports_.last_words()) {
        recorder_.record(std::move(warning));
      }
    }
    result.run_id = request_.run_id;
    if (interceptors_.are_there()) {
      const EndingTime time(ports_.clock, cancellation_);
      guard_text(result, time);
      interceptors_.judge({.point = HookPoint::run_end,
                           .text = result.text,
                           .kind = exit_row(result.exit_code).name,
                           .ending = &result},
                          time.stop());
    }
    tidy_up();  // behind the programs of the last hooks, too
    if (const auto left = ended_by_left(); left && is_well) {
      RunResult stopped = make_result(recorder_.state(), *left);
      result.exit_code = stopped.exit_code;
      result.error = std::move(stopped.error);
      result.stop = std::move(stopped.stop);
      result.output.clear();
      result.partial = !result.text.empty();
    }
    result.duration_ms = worked_ms();
    tell_of_record(result, request_.resume);
    tell_the_way_on(result);
    if (const auto* other = goes_on_with_other(recorder_.state(), result.exit_code)) {
      result.resume_cmd = other->result.resume_cmd;  // the conversation is there
    }
    recorder_.finish(result, [&] { return interruption(); });
    return result;
  }

  const RunRequest& request_;
  const Ports& ports_;
  Cancellation& cancellation_;
  Recorder recorder_;
  Interceptors interceptors_;
  WorkTime time_;
  ApprovalDesk desk_;
  Conversation question_;        // to who writes summaries
  std::vector<ToolInfo> tools_;  // of a request, where some were added
  std::size_t added_so_far_ = 0;
  std::set<std::string>
      suspended_;                 // calls that this process has begun and the next one goes on with
  std::int64_t news_after_ = -1;  // the turn that the tools were last asked behind
  std::vector<Leftover> left_;    // by calls, and by the programs of hooks
  bool is_finishing_ = false;
  bool is_killed_ = false;        // while calls were to run
  bool is_switched_off_ = false;  // the same, by the kill switch
  bool is_approved_ = false;      // the answer, by hooks and guardrails
  bool is_withheld_ = false;      // the same: it is nobody's to read
};

}  // namespace

RunResult run(const RunRequest& request, const Ports& ports, Cancellation& cancellation) {
  return Run(request, ports, cancellation).perform();
}

}  // namespace agent
