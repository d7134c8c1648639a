#include "agent/recorder.h"

#include <cstddef>
#include <utility>

namespace agent {

Event Recorder::next(EventBody body) {
  return {
      .run_id = run_id_, .seq = ++seq_, .time = audience_.clock.wall(), .body = std::move(body)};
}

void Recorder::record(EventBody body) {
  const Event event = next(std::move(body));
  keep(event);
  advance(state_, event.body);
  for (EventSink* sink : audience_.sinks) {
    tell(*sink, event);
  }
  tell_of_losses();
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

void Recorder::finish(RunResult& result, const std::function<std::optional<Ending>()>& ending_now) {
  Event event = next(RunFinished{.result = result});
  if (!audience_.sinks.empty()) {
    tell(*audience_.sinks.front(), event);
  }
  if (const auto ending = ending_now()) {
    result.exit_code = exit_code(*ending);
    result.error = ending->error;
    result.stop = ending->stop;
    event.body = RunFinished{.result = result};
  }
  keep(event);
  commit();
  advance(state_, event.body);
  for (std::size_t at = 1; at < audience_.sinks.size(); ++at) {
    tell(*audience_.sinks[at], event);
  }
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
