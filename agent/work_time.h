// How long a run is at work, and its end when its time is used up. While a person thinks about a
// question, and while nobody answers because a provider is known to be down, the clock stands
// still.
#pragma once
#include "agent/cancellation.h"
#include "agent/clock.h"
#include "agent/outcome.h"
#include "agent/spec.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace agent {

// What a run may be at work of the time of those that it works for, and how it ends then.
struct TimeAbove {
  Milliseconds left;
  Ending ending;
};

// Thread-safe.
class WorkTime {
 public:
  // From now on; `before`: of earlier processes. Both are borrowed.
  WorkTime(Milliseconds before, Clock& clock, Cancellation& cancellation);

  // Once: lets the run expire when `limit` is used up; where it is already, at once. Else starts a
  // thread.
  void end_after(Milliseconds limit);

  // Once the time has ended the run, no less than the limit: with --timeout, what came before the
  // run counts, too, and nothing is left of it.
  Milliseconds worked() const;

  // That long from now on.
  void stand_still_for(Milliseconds time);
  // As long as it lives.
  class Pause {
   public:
    explicit Pause(WorkTime& time) : time_(time) { time_.pause(); }
    ~Pause() { time_.go_on(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    WorkTime& time_;
  };

 private:
  void pause();
  void go_on();
  void watch(const std::stop_token& done);
  void sleep_anew(Clock::Steady now);                             // under mutex_
  Clock::Steady::duration worked_until(Clock::Steady now) const;  // the same

  const Milliseconds before_;
  Clock& clock_;  // read by who calls, not by the watcher: a replayed one has a thread of its own
  Cancellation& cancellation_;
  const Clock::Steady begin_;
  mutable std::mutex mutex_;  // of the next ones
  std::condition_variable_any going_on_;
  int pauses_ = 0;                       // that are under way
  Clock::Steady paused_at_;              // since when they are
  Clock::Steady still_until_;            // else: until then
  Clock::Steady::duration left_out_{0};  // until the last of both began
  std::optional<Milliseconds> limit_;
  Milliseconds left_{0};  // to sleep, until the next change
  std::int64_t changes_ = 0;
  std::stop_source sleep_;
  std::jthread watcher_;  // last: it uses all of the above
};

}  // namespace agent
