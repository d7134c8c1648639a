// Gives each event its place in the run: journal first, then the state, then whoever watches.
#pragma once
#include "agent/clock.h"
#include "agent/error.h"
#include "agent/event.h"
#include "agent/outcome.h"
#include "agent/state.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace agent {

class Recorder {
 public:
  // Who hears of the events, as in Ports; all borrowed.
  struct Audience {
    std::span<EventSink* const> sinks;
    Journal* journal = nullptr;
    Clock& clock;
    std::string parent = {};  // Event's
  };

  Recorder(std::string run_id, Past past, Audience audience)
      : run_id_(std::move(run_id)),
        audience_(std::move(audience)),
        state_(std::move(past.state)),
        seq_(past.seq) {}

  // Returns the event's body: it may be large, and who made it may have use for it.
  EventBody record(EventBody body);

  // Makes what was recorded durable: before each effect, and before what may take its time.
  void commit();

  // Lets go of what had come of an answer that is cut off.
  void forget_streaming() { std::string().swap(state_.streaming); }

  // The last event. Nobody is told of an ending that the journal could not take. The first sink is
  // what the run is for: what it cannot take changes the ending once more, which the journal then
  // has behind the first one, and everybody else hears of that one. `interruption`: what ends the
  // run from outside as things are, asked where what was to be told is lost.
  void finish(RunResult& result, const std::function<std::optional<Ending>()>& interruption);

  // Nobody is asked any more, and the result is made: what was said may be large, and is let go of.
  void end_conversation() {
    state_.conversation = {};
    state_.shown = {};
    state_.open_calls = {};
    state_.last_reply = {};
    state_.answer = nullptr;
  }

  const State& state() const { return state_; }
  // The first failure of the journal or of a sink that the run cannot do without.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  Event next(EventBody body);
  void tell(EventSink& sink, const Event& event);
  void keep(const Event& event);
  void tell_of_losses();
  bool tell_of_failure(const RunResult& result);
  bool is_cut_off() const;

  std::string run_id_;
  Audience audience_;
  State state_;
  std::int64_t seq_;
  bool journal_is_broken_ = false;
  std::optional<Error> failure_;
};

}  // namespace agent
