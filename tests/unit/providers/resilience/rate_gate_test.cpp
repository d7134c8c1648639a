#include "providers/resilience/rate_gate.h"

#include "tests/support/fakes.h"

#include <catch2/catch.hpp>

#include <latch>
#include <thread>

namespace {

using agent::Code;
using agent::Error;
using agent::Milliseconds;
using providers::GateLimits;
using providers::RateGate;
using namespace std::chrono_literals;
using Waits = std::vector<Milliseconds>;

struct Fixture {
  tests::FakeClock clock;
  RateGate gate;
  std::vector<RateGate::Obstacle> told;

  agent::Result<void> enter(const GateLimits& limits, std::stop_token stop = {}) {
    return gate.enter(
        limits, clock, [&](RateGate::Obstacle obstacle, auto) { told.push_back(obstacle); }, stop);
  }
};

const auto k_silent = [](RateGate::Obstacle, std::optional<Milliseconds>) {};

tests::ScriptedProvider::Answer refusing(Error error) {
  return [error = std::move(error)](const auto&, const auto&) { return agent::fail(error); };
}

tests::ScriptedProvider::Answer answering() {
  return [](const auto&, const auto&) { return agent::Reply{.text = "hi"}; };
}

}  // namespace

TEST_CASE("rate gate: without limits nobody waits", "[providers]") {
  Fixture one;
  for (int n = 0; n < 1000; ++n) {
    REQUIRE(one.enter({}));
  }
  CHECK(one.clock.slept.empty());
}

TEST_CASE("rate gate: the number may go at once, the next one when the first is a minute old",
          "[providers]") {
  Fixture one;
  const GateLimits limits{.requests_per_minute = 3};
  REQUIRE(one.enter(limits));
  one.clock.sleep_for(10s, {});
  REQUIRE(one.enter(limits));
  REQUIRE(one.enter(limits));
  CHECK(one.clock.slept == Waits{10s});
  REQUIRE(one.enter(limits));
  CHECK(one.clock.slept == Waits{10s, 50s});
  REQUIRE(one.enter(limits));
  CHECK(one.clock.slept == Waits{10s, 50s, 10s});
  CHECK(one.told == std::vector(2, RateGate::Obstacle::requests_per_minute));
}

TEST_CASE("rate gate: a request is forgotten after exactly a minute", "[providers]") {
  Fixture one;
  const GateLimits limits{.requests_per_minute = 1};
  REQUIRE(one.enter(limits));
  one.clock.sleep_for(59'999ms, {});
  REQUIRE(one.enter(limits));
  CHECK(one.clock.slept == Waits{59'999ms, 1ms});
  one.clock.sleep_for(60s, {});
  REQUIRE(one.enter(limits));
  CHECK(one.clock.slept == Waits{59'999ms, 1ms, 60s});
  CHECK(one.told.empty());
}

TEST_CASE("rate gate: a wait over the patience is busy at once", "[providers]") {
  Fixture one;
  REQUIRE(one.enter({.requests_per_minute = 1}));
  const auto turn = one.enter({.requests_per_minute = 1, .patience = 59'999ms});
  REQUIRE_FALSE(turn);
  CHECK(turn.error().code == Code::provider_busy);
  CHECK(turn.error().retry_after == Milliseconds(60s));
  CHECK(turn.error().message == "the request would have to wait 1m: `requests_per_minute` is 1");
  CHECK(one.clock.slept.empty());
  REQUIRE(one.enter({.requests_per_minute = 1, .patience = 60s}));
}

TEST_CASE("rate gate: all slots taken and no patience is busy at once", "[providers]") {
  Fixture one;
  const GateLimits limits{.max_in_flight = 2, .patience = 0ms};
  REQUIRE(one.enter(limits));
  REQUIRE(one.enter(limits));
  const auto turn = one.enter(limits);
  REQUIRE_FALSE(turn);
  CHECK(turn.error().code == Code::provider_busy);
  CHECK_FALSE(turn.error().retry_after);
  one.gate.leave();
  CHECK(one.enter(limits));
}

TEST_CASE("rate gate: a pause that the server asked for counts for all, the longest one wins",
          "[providers]") {
  Fixture one;
  one.gate.hold_until(one.clock.now() + 5s);
  one.gate.hold_until(one.clock.now() + 2s);
  REQUIRE(one.enter({.requests_per_minute = 1}));
  CHECK(one.clock.slept == Waits{5s});
  CHECK(one.told == std::vector{RateGate::Obstacle::held});
  one.gate.hold_until(one.clock.now() + 5s);
  REQUIRE(one.enter({.requests_per_minute = 1}));
  CHECK(one.clock.slept == Waits{5s, 60s});
}

TEST_CASE("rate gate: a stop ends the wait, and the place in the line is free again",
          "[providers][threads]") {
  Fixture one;
  const GateLimits limits{.max_in_flight = 1};
  REQUIRE(one.enter(limits));
  std::stop_source stop;
  std::optional<Code> code;
  {
    std::jthread waiting([&] {
      const auto turn = one.gate.enter(limits, one.clock, k_silent, stop.get_token());
      code = turn ? Code::internal : turn.error().code;
    });
    stop.request_stop();
  }
  CHECK(code == Code::run_cancelled);
  one.gate.leave();
  CHECK(one.enter(limits));
}

TEST_CASE("rate gate: a stop within the first second is not told as a wait", "[providers]") {
  // Stops when it is looked at for the second time: behind the gate's own look at the stop.
  struct StoppingClock final : agent::Clock {
    Steady now() const override {
      if (++looks == 2) {
        stop.request_stop();
      }
      return {};
    }
    Wall wall() const override { return {}; }
    bool sleep_for(Milliseconds, std::stop_token) override { return false; }

    mutable int looks = 0;
    mutable std::stop_source stop;
  };
  Fixture one;
  const GateLimits limits{.max_in_flight = 1};
  REQUIRE(one.enter(limits));
  StoppingClock clock;
  bool is_told = false;
  const auto turn = one.gate.enter(
      limits,
      clock,
      [&](RateGate::Obstacle, std::optional<Milliseconds>) { is_told = true; },
      clock.stop.get_token());
  REQUIRE_FALSE(turn);
  CHECK(turn.error().code == Code::run_cancelled);
  CHECK_FALSE(is_told);
}

TEST_CASE("rate gate: a wait of unknown length is told after a second", "[providers][threads]") {
  Fixture one;
  const GateLimits limits{.max_in_flight = 1};
  REQUIRE(one.enter(limits));
  std::vector<RateGate::Obstacle> told;
  std::latch heard(1);
  std::jthread waiting([&] {
    CHECK(one.gate.enter(limits,
                         one.clock,
                         [&](RateGate::Obstacle obstacle, std::optional<Milliseconds> time) {
                           CHECK_FALSE(time);
                           told.push_back(obstacle);
                           heard.count_down();
                         },
                         {}));
  });
  heard.wait();
  one.gate.leave();
  waiting.join();
  CHECK(told == std::vector{RateGate::Obstacle::max_in_flight});
}

TEST_CASE("rate gate: never more at once than allowed, and everybody gets through",
          "[providers][threads]") {
  RateGate gate;
  agent::SystemClock clock;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> passed = 0;
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < 8; ++n) {
      threads.emplace_back([&] {
        for (int time = 0; time < 50; ++time) {
          if (gate.enter({.max_in_flight = 3}, clock, k_silent, {})) {
            const int now = ++inside;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            ++passed;
            std::this_thread::yield();
            --inside;
            gate.leave();
          }
        }
      });
    }
  }
  CHECK(passed == 400);
  CHECK(most <= 3);
}

TEST_CASE("gated provider: a failure that says when to come back holds everybody", "[providers]") {
  struct Row {
    Error error;
    Waits waits;
  };
  const auto row = GENERATE(values<Row>({
      {{.code = Code::provider_rate_limited, .retry_after = 7s}, {7s}},
      {{.code = Code::provider_unavailable, .retry_after = 7s}, {7s}},
      {{.code = Code::provider_rate_limited}, {}},
      {{.code = Code::provider_quota, .retry_after = 7s}, {}},
  }));
  tests::FakeClock clock;
  RateGate gate;
  const agent::Conversation conversation;
  const auto ask = [&](tests::ScriptedProvider::Answer answer) {
    providers::GatedProvider provider(
        std::make_unique<tests::ScriptedProvider>(std::deque{std::move(answer)}),
        gate,
        {.max_in_flight = 1},
        clock,
        "p",
        "m");
    return provider.complete({.conversation = conversation}, [](const auto&) {}, {});
  };
  CHECK_FALSE(ask(refusing(row.error)));
  CHECK(ask(answering()));
  CHECK(clock.slept == row.waits);
}

TEST_CASE("gated provider: the first wait is told, and busy says whose it is", "[providers]") {
  tests::FakeClock clock;
  RateGate gate;
  const agent::Conversation conversation;
  providers::GatedProvider provider(
      std::make_unique<tests::ScriptedProvider>(std::deque(3, answering())),
      gate,
      {.requests_per_minute = 1},
      clock,
      "p",
      "m");
  std::vector<std::string> warnings;
  const auto ask = [&] {
    return provider.complete({.conversation = conversation},
                             [&](const agent::EventBody& event) {
                               warnings.push_back(std::get<agent::Warning>(event).message);
                             },
                             {});
  };
  CHECK(ask());
  CHECK(ask());
  CHECK(ask());
  CHECK(warnings == std::vector<std::string>{
                        "requests to p/m have to wait, this one 1m: `requests_per_minute` is 1"});
  gate.hold_until(clock.now() + 1h);
  const auto busy = ask();
  REQUIRE_FALSE(busy);
  CHECK(busy.error().code == Code::provider_busy);
  CHECK(busy.error().provider == "p");
  CHECK(busy.error().model == "m");
  CHECK(busy.error().retry_after == Milliseconds(1h));
}
