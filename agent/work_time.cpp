#include "agent/work_time.h"

#include <algorithm>

namespace agent {

WorkTime::WorkTime(Milliseconds before, Clock& clock, Cancellation& cancellation)
    : before_(before),
      clock_(clock),
      cancellation_(cancellation),
      begin_(clock.now()),
      paused_at_(begin_),
      still_until_(begin_) {}

void WorkTime::end_after(Milliseconds limit) {
  limit_ = limit;
  left_ = std::max(limit - before_, Milliseconds{0});
  if (left_ == Milliseconds{0}) {
    cancellation_.expire();  // before anything is sent
    return;
  }
  watcher_ = std::jthread([this](const std::stop_token& done) { watch(done); });
}

Milliseconds WorkTime::worked() const {
  const std::lock_guard lock(mutex_);
  const auto time = std::chrono::floor<Milliseconds>(worked_until(clock_.now()));
  return limit_ && cancellation_.is_expired() ? std::max(time, *limit_) : time;
}

// What is left out so far began at paused_at_, whether it is a pause or a time that is known.
Clock::Steady::duration WorkTime::worked_until(Clock::Steady now) const {
  const auto end_of_still = pauses_ > 0 ? now : std::clamp(still_until_, paused_at_, now);
  return before_ + (now - begin_) - left_out_ - (end_of_still - paused_at_);
}

void WorkTime::stand_still_for(Milliseconds time) {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.now();
  if (pauses_ == 0) {
    left_out_ += std::clamp(still_until_, paused_at_, now) - paused_at_;
    paused_at_ = now;
  }
  still_until_ = std::max(still_until_, now + time);
  sleep_anew(now);
}

// Of what is left from now on.
void WorkTime::sleep_anew(Clock::Steady now) {
  if (limit_) {
    const auto still = std::max(still_until_, now) - now;
    const auto left = std::chrono::ceil<Milliseconds>(*limit_ - worked_until(now) + still);
    left_ = std::max(left, Milliseconds{0});
  }
  ++changes_;
  sleep_.request_stop();
}

void WorkTime::pause() {
  const std::lock_guard lock(mutex_);
  if (pauses_++ == 0) {
    const auto now = clock_.now();
    left_out_ += std::clamp(still_until_, paused_at_, now) - paused_at_;
    paused_at_ = now;
    ++changes_;
    sleep_.request_stop();
  }
}

void WorkTime::go_on() {
  const std::lock_guard lock(mutex_);
  if (--pauses_ == 0) {
    const auto now = clock_.now();
    left_out_ += now - paused_at_;
    paused_at_ = now;
    sleep_anew(now);
    going_on_.notify_all();
  }
}

void WorkTime::watch(const std::stop_token& done) {
  const std::stop_callback end(done, [this] {
    const std::lock_guard lock(mutex_);
    sleep_.request_stop();
  });
  std::unique_lock lock(mutex_);
  while (going_on_.wait(lock, done, [this] { return pauses_ == 0; }) && !done.stop_requested()) {
    const Milliseconds left = left_;
    const std::int64_t changes = changes_;
    sleep_ = std::stop_source();
    const std::stop_token stop = sleep_.get_token();
    lock.unlock();
    const bool is_over = clock_.sleep_for(left, stop);
    lock.lock();
    if (is_over && changes == changes_) {
      lock.unlock();
      cancellation_.expire();
      return;
    }
  }
}

}  // namespace agent
