#include "agent/recorder.h"

#include "agent/resume_command.h"

#include <cstddef>
#include <utility>
#include <variant>

namespace agent {

Event Recorder::next(EventBody body) {
  return {.run_id = run_id_,
          .parent = audience_.parent,
          .seq = ++seq_,
          .time = audience_.clock.wall(),
          .body = std::move(body)};
}

namespace {

// An answer that is not to wait in memory, as a row of the journal, for the next effect.
bool is_large(const EventBody& body) {
  constexpr std::size_t k_large = 1u << 20;
  const auto* const responded = std::get_if<ModelResponded>(&body);
  return responded != nullptr &&
         static_cast<std::size_t>(bytes_of(*responded->reply)) + responded->reply->raw.size() >
             k_large;
}

// Whether that is another ending.
bool end_as(RunResult& result, const std::optional<Ending>& ending) {
  if (!ending || exit_code(*ending) == result.exit_code) {
    return false;
  }
  result.exit_code = exit_code(*ending);
  result.error = ending->error;
  result.stop = ending->stop;
  result.output.clear();
  result.partial = !result.text.empty();
  if (!is_resumable(result.exit_code)) {
    result.resume_cmd.clear();
  }
  settle_message(result);
  return true;
}

}  // namespace

EventBody Recorder::record(EventBody body) {
  Event event = next(std::move(body));
  if (std::holds_alternative<ModelResponded>(event.body)) {
    std::string().swap(state_.streaming);  // what came in pieces is there as a whole
  }
  keep(event);
  if (is_large(event.body)) {
    commit();
  }
  advance(state_, event.body);
  for (EventSink* sink : audience_.sinks) {
    tell(*sink, event);
  }
  tell_of_losses();
  return std::move(event.body);
}

// A sink tells of its loss once, so that this ends.
void Recorder::tell_of_losses() {
  for (EventSink* sink : audience_.sinks) {
    if (auto loss = sink->loss()) {
      record(*std::move(loss));
    }
  }
}

void Recorder::commit() {
  if (audience_.journal == nullptr || journal_is_broken_) {
    return;
  }
  if (auto done = audience_.journal->commit(); !done) {
    journal_is_broken_ = true;
    if (!failure_) {
      failure_ = std::move(done).error().while_("writing the run's journal");
    }
  }
}

void Recorder::finish(RunResult& result,
                      const std::function<std::optional<Ending>()>& interruption) {
  const bool was_failing = failure_.has_value();
  if (journal_is_broken_) {
    tell_of_failure(result);
  }
  Event event = next(RunFinished{.result = std::move(result)});
  RunResult& told = std::get<RunFinished>(event.body).result;
  keep(event);
  commit();
  if (failure_ && !was_failing) {
    end_as(told, interruption());
    if (journal_is_broken_ && tell_of_failure(told)) {
      event.seq = ++seq_;
    }
  }
  if (!audience_.sinks.empty()) {
    tell(*audience_.sinks.front(), event);
  }
  if (((failure_ && !was_failing) || is_cut_off()) && end_as(told, interruption())) {
    event.seq = ++seq_;
    keep(event);
    commit();
  }
  for (std::size_t at = 1; at < audience_.sinks.size(); ++at) {
    tell(*audience_.sinks[at], event);
  }
  advance(state_, event.body);
  result = std::move(told);
}

// Where something else ends the run, as a signal does, its ending does not say it.
bool Recorder::tell_of_failure(const RunResult& result) {
  if (!failure_ || (result.error && result.error->code == failure_->code)) {
    return false;
  }
  record(Warning{.message = failure_->message + ": what came after is not recorded", .help = {}});
  return true;
}

// A member's answer is for its whole, which has it.
bool Recorder::is_cut_off() const {
  return audience_.parent.empty() && !audience_.sinks.empty() &&
         audience_.sinks.front()->is_cut_off();
}

void Recorder::tell(EventSink& sink, const Event& event) {
  sink.on(event);
  if (!failure_ && sink.failure() != nullptr) {
    failure_ = *sink.failure();
  }
}

void Recorder::keep(const Event& event) {
  if (audience_.journal != nullptr && !journal_is_broken_ && is_journaled(event.body)) {
    audience_.journal->append(event);
  }
}

}  // namespace agent
