#include "agent/loop.h"

#include "agent/duration.h"
#include "agent/step.h"

#include <fmt/format.h>

#include <csignal>
#include <expected>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>

namespace agent {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// Gives each event its place in the run: journal first, then the state, then whoever watches.
class Recorder {
 public:
  Recorder(const RunRequest& request, const Ports& ports)
      : run_id_(request.run_id), ports_(ports), state_(request.plan) {}

  void record(EventBody body) {
    Event event{
        .run_id = run_id_, .seq = ++seq_, .time = ports_.clock.wall(), .body = std::move(body)};
    keep(event);
    advance(state_, event.body);
    for (EventSink* sink : ports_.sinks) {
      tell(*sink, event);
    }
  }

  // Makes what was recorded durable: before each effect, and before what may take its time.
  void commit() {
    if (ports_.journal == nullptr || journal_is_broken_) {
      return;
    }
    if (auto done = ports_.journal->commit(); !done) {
      journal_is_broken_ = true;
      if (!failure_) {
        failure_ = std::move(done).error().while_("writing the run's journal");
      }
    }
  }

  // The last event. The first sink is what the run is for: what it cannot take in changes the
  // ending, and everybody else hears of that one.
  void finish(RunResult& result, const std::function<std::optional<Ending>()>& ending_now) {
    Event event{.run_id = run_id_,
                .seq = ++seq_,
                .time = ports_.clock.wall(),
                .body = RunFinished{.result = result}};
    if (!ports_.sinks.empty()) {
      tell(*ports_.sinks.front(), event);
    }
    if (const auto ending = ending_now()) {
      result.exit_code = exit_code(*ending);
      result.error = ending->error;
      event.body = RunFinished{.result = result};
    }
    keep(event);
    commit();
    advance(state_, event.body);
    for (std::size_t at = 1; at < ports_.sinks.size(); ++at) {
      tell(*ports_.sinks[at], event);
    }
  }

  const State& state() const { return state_; }
  // The first failure of the journal or of a sink that the run cannot do without.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  void tell(EventSink& sink, const Event& event) {
    sink.on(event);
    if (!failure_ && sink.failure() != nullptr) {
      failure_ = *sink.failure();
    }
  }

  void keep(const Event& event) {
    if (ports_.journal != nullptr && !journal_is_broken_ && is_journaled(event.body)) {
      ports_.journal->append(event);
    }
  }

  std::string run_id_;
  const Ports& ports_;
  State state_;
  std::int64_t seq_ = 0;
  bool journal_is_broken_ = false;
  std::optional<Error> failure_;
};

class RecordingWatcher final : public ToolWatcher {
 public:
  RecordingWatcher(Recorder& recorder, Approver* approver, std::stop_token stop)
      : recorder_(recorder), approver_(approver), stop_(std::move(stop)) {}

  Answer ask(const ApprovalRequest& request) override {
    recorder_.record(ApprovalRequested{.turn = recorder_.state().turns, .request = request});
    recorder_.commit();  // the answer may be long in coming
    const Answer answer = approver_ != nullptr ? approver_->ask(request, stop_) : Answer::nobody;
    if (answer != Answer::nobody) {
      recorder_.record(ApprovalAnswered{
          .call_id = request.call.id, .answer = answer, .by = std::string(approver_->name())});
    }
    return answer;
  }

  bool started(const ToolCall& call) override {
    recorder_.record(ToolStarted{.turn = recorder_.state().turns,
                                 .call_id = call.id,
                                 .name = call.name,
                                 .arguments = call.arguments});
    recorder_.commit();
    return !recorder_.failure();
  }
  void output(const ToolCall& call, std::string_view chunk) override {
    recorder_.record(ToolOutput{.call_id = call.id, .text = std::string(chunk)});
  }
  void finished(const ToolResult& result) override {
    const State& state = recorder_.state();
    recorder_.record(ToolFinished{.turn = state.turns, .result = result});
    if (state.results.size() < state.open_calls.size()) {
      recorder_.commit();  // the others may run for long
    }
  }

 private:
  Recorder& recorder_;
  Approver* approver_;
  std::stop_token stop_;
};

// Ends the run at its deadline, wherever it is waiting.
class Deadline {
 public:
  Deadline(std::optional<Milliseconds> timeout, Clock& clock, Cancellation& cancellation) {
    if (timeout) {
      watcher_ = std::jthread([time = *timeout, &clock, &cancellation](std::stop_token stop) {
        if (clock.sleep_for(time, stop)) {
          cancellation.expire();
        }
      });
    }
  }

 private:
  std::jthread watcher_;
};

std::int64_t milliseconds_since(Clock::Steady start, const Clock& clock) {
  return std::chrono::duration_cast<Milliseconds>(clock.now() - start).count();
}

class Run {
 public:
  Run(const RunRequest& request, const Ports& ports, Cancellation& cancellation)
      : request_(request),
        ports_(ports),
        cancellation_(cancellation),
        recorder_(request, ports),
        begin_(ports.clock.now()) {}

  RunResult perform() {
    const Deadline deadline(request_.plan.limits.timeout, ports_.clock, cancellation_);
    recorder_.record(request_.started);
    for (const Warning& warning : request_.warnings) {
      recorder_.record(warning);
    }
    for (;;) {
      if (auto ending = interruption()) {
        return finish(*ending);
      }
      Step step = next(recorder_.state());
      if (auto* end = std::get_if<Finish>(&step)) {
        return finish(end->ending);
      }
      if (auto done = perform(std::move(step)); !done) {
        return finish(interruption().value_or(std::move(done).error()));
      }
    }
  }

 private:
  using Done = std::expected<void, Ending>;

  Done perform(Step step) {
    return std::visit(Overloaded{[&](AskModel& ask) { return ask_model(ask); },
                                 [&](RunTools& run) { return run_tools(run); },
                                 [&](Say& say) { return note(std::move(say.message)); },
                                 [&](Warn& warn) { return note(std::move(warn.warning)); },
                                 [](Finish&) { return Done{}; }},
                      step);
  }

  Done note(EventBody body) {
    recorder_.record(std::move(body));
    return {};
  }

  Done ask_model(const AskModel& ask) {
    const State& state = recorder_.state();
    const std::int64_t turn = state.turns + 1;
    recorder_.record(TurnStarted{.turn = turn});
    recorder_.record(
        ModelRequested{.turn = turn,
                       .model = request_.started.model,
                       .messages = static_cast<std::int64_t>(state.conversation.messages.size()),
                       .estimated_input = estimated_input(state),
                       .max_output_tokens = ask.max_output_tokens});
    recorder_.commit();
    if (recorder_.failure()) {
      return std::unexpected(Ending{.error = recorder_.failure()});
    }
    const auto start = ports_.clock.now();
    std::stop_source stop;
    const std::stop_callback forward(cancellation_.stop(), [&stop] { stop.request_stop(); });
    ModelRequest request{.instructions = request_.started.instructions,
                         .tools = ports_.toolbox.tools(),
                         .conversation = state.conversation,
                         .max_output_tokens = ask.max_output_tokens,
                         .tool_choice = tool_choice(state),
                         .output_schema = state.plan.output_schema};
    std::optional<Ending> at_limit;
    auto reply = ports_.provider.complete(
        request,
        [&](EventBody body) {
          const bool asks_again = std::holds_alternative<ModelRetrying>(body) ||
                                  std::holds_alternative<ModelFallback>(body);
          if (auto* reset = std::get_if<ModelReset>(&body)) {
            reset->cost = cost_of_broken_stream(state);
          }
          recorder_.record(std::move(body));
          recorder_.commit();
          if (asks_again && !at_limit) {
            at_limit = limits_again(request);
          }
          if (at_limit) {
            stop.request_stop();
          }
        },
        stop.get_token());
    if (!reply) {
      return std::unexpected(at_limit ? *std::move(at_limit)
                                      : Ending{.error = std::move(reply).error()});
    }
    recorder_.record(ModelResponded{.turn = turn,
                                    .reply = std::move(*reply),
                                    .duration_ms = milliseconds_since(start, ports_.clock)});
    return {};
  }

  // Attempts that failed may have used up what a limit leaves, and another model may be dearer: the
  // next attempt may say less, or nothing comes of it.
  std::optional<Ending> limits_again(ModelRequest& request) {
    for (;;) {
      Step step = next(recorder_.state());
      if (auto* warn = std::get_if<Warn>(&step)) {
        recorder_.record(std::move(warn->warning));
        continue;
      }
      if (const auto* ask = std::get_if<AskModel>(&step)) {
        request.max_output_tokens = ask->max_output_tokens;
      }
      auto* end = std::get_if<Finish>(&step);
      return end != nullptr ? std::optional(std::move(end->ending)) : std::nullopt;
    }
  }

  Done run_tools(const RunTools& step) {
    RecordingWatcher watcher(recorder_, ports_.approver, cancellation_.stop());
    ports_.toolbox.run(step.calls, watcher, cancellation_.stop(), cancellation_.kill());
    return {};
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
    if (cancellation_.is_expired()) {
      const auto timeout = request_.plan.limits.timeout.value_or(Milliseconds{0});
      const auto seconds = [](std::int64_t ms) { return static_cast<double>(ms) / 1000; };
      return stopped_at(Code::run_timeout,
                        "limits.timeout",
                        seconds(milliseconds_since(begin_, ports_.clock)),
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

  // Every call of the last reply has one result, also those that an ending kept from running.
  void close_open_calls() {
    const auto calls = recorder_.state().open_calls;
    for (const ToolCall& call : calls) {
      if (!recorder_.state().results.contains(call.id)) {
        recorder_.record(
            ToolFinished{.turn = recorder_.state().turns,
                         .result = {.call_id = call.id,
                                    .name = call.name,
                                    .content = "[not run: the run ended before this call]",
                                    .status = ToolStatus::not_run,
                                    .code = Code::tool_cancelled,
                                    .message = "the run ended before this call"}});
      }
    }
  }

  RunResult finish(const Ending& ending) {
    close_open_calls();
    RunResult result = make_result(recorder_.state(), ending);
    result.run_id = request_.run_id;
    result.duration_ms = milliseconds_since(begin_, ports_.clock);
    const bool was_failing = recorder_.failure().has_value();
    const int signal = cancellation_.signal_number();
    recorder_.finish(result, [&]() -> std::optional<Ending> {
      const bool is_failing = recorder_.failure() && !was_failing;
      const bool is_signalled = cancellation_.signal_number() == SIGPIPE && signal == 0;
      return is_failing || is_signalled ? interruption() : std::nullopt;
    });
    return result;
  }

  const RunRequest& request_;
  const Ports& ports_;
  Cancellation& cancellation_;
  Recorder recorder_;
  Clock::Steady begin_;
};

}  // namespace

RunResult run(const RunRequest& request, const Ports& ports, Cancellation& cancellation) {
  return Run(request, ports, cancellation).perform();
}

}  // namespace agent
