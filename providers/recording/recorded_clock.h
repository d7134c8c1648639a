// The clock of a recorded run, and that of its replay. What they note or give back are the readings
// of the thread that made them, the run's own; on other threads they are the machine's clock.
#pragma once
#include "agent/clock.h"
#include "providers/recording/recorded_timings.h"

#include <thread>

namespace providers {

// Goes in whole milliseconds, so that a replay reads exactly what the run read.
class RecordingClock final : public agent::Clock {
 public:
  explicit RecordingClock(RecordingTimings& timings);  // borrowed

  Steady now() const override;
  Wall wall() const override;
  bool sleep_for(std::chrono::milliseconds time, std::stop_token stop) override;

  Wall start() const { return start_; }

 private:
  std::chrono::milliseconds read() const;

  agent::SystemClock real_;
  const Steady begin_;
  const Wall start_;
  const std::thread::id owner_ = std::this_thread::get_id();
  RecordingTimings& timings_;
};

// Waits for nothing. A deadline that is watched from another thread stays a real one.
class ReplayingClock final : public agent::Clock {
 public:
  ReplayingClock(Wall start, ReplayingTimings& timings)  // borrowed
      : start_(start), timings_(timings) {}

  Steady now() const override;
  Wall wall() const override;
  bool sleep_for(std::chrono::milliseconds time, std::stop_token stop) override;

 private:
  bool is_owner() const { return std::this_thread::get_id() == owner_; }

  agent::SystemClock real_;
  const Wall start_;
  const std::thread::id owner_ = std::this_thread::get_id();
  ReplayingTimings& timings_;
};

}  // namespace providers
