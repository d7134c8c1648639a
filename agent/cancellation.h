// Why a run is being stopped from outside: a signal, its deadline, or what it is a part of.
// Thread-safe.
#pragma once
#include "agent/descriptor.h"
#include "agent/outcome.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace agent {

class Cancellation {
 public:
  // The first asks everything to end soon; one that comes when that was asked before, by a signal
  // or by the deadline, to end at once.
  void signal(int number) {
    int none = 0;
    signal_.compare_exchange_strong(none, number);
    if (!stop_.request_stop()) {
      kill_.request_stop();
    }
  }
  void expire() {
    expired_ = true;
    stop_.request_stop();
  }

  // The first counts.
  void end(Ending ending) {
    {
      const std::lock_guard lock(mutex_);
      if (!ending_) {
        ending_ = std::move(ending);
      }
    }
    stop_.request_stop();
  }

  std::stop_token stop() const { return stop_.get_token(); }
  std::stop_token kill() const { return kill_.get_token(); }
  int signal_number() const { return signal_; }  // the first one; 0: none
  bool is_expired() const { return expired_; }
  // What was given to end().
  std::optional<Ending> ending() const {
    const std::lock_guard lock(mutex_);
    return ending_;
  }

  // With those who do not read what the run writes.
  WritePatience& patience() { return patience_; }

 private:
  std::stop_source stop_;
  std::stop_source kill_;
  std::atomic<int> signal_{0};
  std::atomic<bool> expired_{false};
  mutable std::mutex mutex_;
  std::optional<Ending> ending_;  // under mutex_
  WritePatience patience_{stop_.get_token(), kill_.get_token()};
};

}  // namespace agent
