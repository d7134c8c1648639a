#include "providers/recording/recorded_clock.h"

#include <utility>

namespace providers {

using std::chrono::milliseconds;

RecordingClock::RecordingClock(RecordingTimings& timings)
    : begin_(real_.now()),
      start_(std::chrono::floor<milliseconds>(real_.wall())),
      timings_(timings) {}

milliseconds RecordingClock::read() const {
  const auto reading = std::chrono::floor<milliseconds>(real_.now() - begin_);
  if (std::this_thread::get_id() == owner_) {
    timings_.note_time(reading.count());
  }
  return reading;
}

agent::Clock::Steady RecordingClock::now() const {
  return begin_ + read();
}

agent::Clock::Wall RecordingClock::wall() const {
  return start_ + read();
}

bool RecordingClock::sleep_for(milliseconds time, std::stop_token stop) {
  return real_.sleep_for(time, std::move(stop));
}

agent::Clock::Steady ReplayingClock::now() const {
  return is_owner() ? Steady(milliseconds(timings_.next_time())) : real_.now();
}

agent::Clock::Wall ReplayingClock::wall() const {
  return is_owner() ? start_ + milliseconds(timings_.next_time()) : real_.wall();
}

bool ReplayingClock::sleep_for(milliseconds time, std::stop_token stop) {
  return is_owner() ? !stop.stop_requested() : real_.sleep_for(time, std::move(stop));
}

}  // namespace providers
