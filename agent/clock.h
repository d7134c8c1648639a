// Time as a port, so that tests turn it by hand.
#pragma once
#include <chrono>
#include <stop_token>

namespace agent {

class Clock {
 public:
  using Steady = std::chrono::steady_clock::time_point;
  using Wall = std::chrono::system_clock::time_point;

  virtual ~Clock() = default;
  virtual Steady now() const = 0;
  virtual Wall wall() const = 0;
  // False when `stop` was requested before the time was over.
  virtual bool sleep_for(std::chrono::milliseconds time, std::stop_token stop) = 0;
};

// The machine's clock. Thread-safe.
class SystemClock final : public Clock {
 public:
  Steady now() const override { return std::chrono::steady_clock::now(); }
  Wall wall() const override { return std::chrono::system_clock::now(); }
  bool sleep_for(std::chrono::milliseconds time, std::stop_token stop) override;
};

}  // namespace agent
