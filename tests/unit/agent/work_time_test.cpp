#include "agent/work_time.h"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

using namespace std::chrono_literals;
using agent::WorkTime;

// Turned by hand: whoever sleeps sleeps until then.
class HandClock final : public agent::Clock {
 public:
  Steady now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  Wall wall() const override { return Wall(); }
  bool sleep_for(std::chrono::milliseconds time, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    const Steady until = now_ + time;
    ++sleeps_;
    changed_.notify_all();
    return changed_.wait(lock, stop, [&] { return now_ >= until; });
  }
  void advance(std::chrono::milliseconds time) {
    const std::lock_guard lock(mutex_);
    now_ += time;
    changed_.notify_all();
  }
  // Whether somebody sleeps for the nth time, within a while.
  bool has_sleeper(int nth) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return sleeps_ >= nth; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Steady now_{1h};
  int sleeps_ = 0;
};

bool expires(const agent::Cancellation& cancellation) {
  for (int tries = 0; tries < 2'000 && !cancellation.is_expired(); ++tries) {
    std::this_thread::sleep_for(10ms);
  }
  return cancellation.is_expired();
}

}  // namespace

TEST_CASE("work time: what is used up before ends the run at once", "[agent]") {
  HandClock clock;
  agent::Cancellation cancellation;
  WorkTime time(2s, clock, cancellation);
  time.end_after(2s);
  CHECK(cancellation.is_expired());
}

TEST_CASE("work time: a clock that wakes early leaves nothing of the limit", "[agent]") {
  class Early final : public agent::Clock {
   public:
    Steady now() const override { return Steady{1h}; }
    Wall wall() const override { return Wall(); }
    bool sleep_for(std::chrono::milliseconds, std::stop_token) override { return true; }
  };
  Early clock;
  agent::Cancellation cancellation;
  WorkTime time(1s, clock, cancellation);
  time.end_after(2s);
  REQUIRE(expires(cancellation));
  CHECK(time.worked() == 2s);
}

TEST_CASE("work time: waiting for others is none, work before is some", "[agent]") {
  HandClock clock;
  agent::Cancellation cancellation;
  WorkTime time(2s, clock, cancellation);
  clock.advance(3s);
  CHECK(time.worked() == 5s);
  SECTION("a pause, and one in another") {
    {
      const WorkTime::Pause pause(time);
      clock.advance(1h);
      const WorkTime::Pause other(time);
      clock.advance(1h);
      CHECK(time.worked() == 5s);
    }
    clock.advance(1s);
    CHECK(time.worked() == 6s);
  }
  SECTION("a time that is known, as far as it has come") {
    time.stand_still_for(30s);
    clock.advance(10s);
    CHECK(time.worked() == 5s);
    clock.advance(21s);
    CHECK(time.worked() == 6s);
    time.stand_still_for(30s);
    time.stand_still_for(10s);
    clock.advance(30s);
    CHECK(time.worked() == 6s);
    clock.advance(4s);
    CHECK(time.worked() == 10s);
  }
  SECTION("both at once count once") {
    time.stand_still_for(30s);
    {
      const WorkTime::Pause pause(time);
      clock.advance(10s);
    }
    clock.advance(20s);
    CHECK(time.worked() == 5s);
    clock.advance(2s);
    CHECK(time.worked() == 7s);
  }
}

TEST_CASE("work time: a run ends when its own time is used up, and no sooner", "[agent]") {
  HandClock clock;
  agent::Cancellation cancellation;
  WorkTime time(1s, clock, cancellation);
  time.end_after(10s);
  REQUIRE(clock.has_sleeper(1));
  SECTION("a person thinks for longer than that") {
    {
      const WorkTime::Pause pause(time);
      clock.advance(1h);
    }
    REQUIRE(clock.has_sleeper(2));
    clock.advance(8'999ms);
    CHECK(time.worked() == 9'999ms);
    CHECK_FALSE(cancellation.is_expired());
    clock.advance(1ms);
    CHECK(expires(cancellation));
  }
  SECTION("a provider is down for longer than that") {
    time.stand_still_for(1h);
    REQUIRE(clock.has_sleeper(2));
    clock.advance(9s);  // when it would have been over
    clock.advance(1h - 9s);
    CHECK(time.worked() == 1s);
    CHECK_FALSE(cancellation.is_expired());
    clock.advance(9s);
    CHECK(expires(cancellation));
  }
}

TEST_CASE("work time: a run that ends in time is not ended later", "[agent]") {
  HandClock clock;
  agent::Cancellation cancellation;
  {
    WorkTime time(0s, clock, cancellation);
    time.end_after(10s);
    REQUIRE(clock.has_sleeper(1));
  }
  clock.advance(1h);
  CHECK_FALSE(cancellation.is_expired());
}
