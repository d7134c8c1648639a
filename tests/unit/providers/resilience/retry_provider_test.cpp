#include "providers/resilience/retry_provider.h"

#include <catch2/catch.hpp>

#include <deque>
#include <utility>
#include <variant>
#include <vector>

namespace {

using agent::Code;
using agent::Error;
using agent::Milliseconds;
using namespace std::chrono_literals;

// Time stands still; a wait is noted, and may be the moment of the stop.
class FakeClock final : public agent::Clock {
 public:
  Steady now() const override { return {}; }
  Wall wall() const override { return {}; }
  bool sleep_for(Milliseconds time, std::stop_token stop) override {
    waits.push_back(time);
    if (stop_at_wait == static_cast<int>(waits.size())) {
      source.request_stop();
    }
    return !stop.stop_requested();
  }
  std::vector<Milliseconds> waits;
  int stop_at_wait = 0;
  std::stop_source source;
};

struct Attempt {
  std::vector<std::string> deltas;
  agent::Result<agent::Reply> result;
};

class Scripted final : public agent::Provider {
 public:
  explicit Scripted(std::deque<Attempt> answers) : answers_(std::move(answers)) {}
  agent::Result<agent::Reply> complete(const agent::ModelRequest&,
                                       const agent::Emit& emit,
                                       std::stop_token) override {
    REQUIRE_FALSE(answers_.empty());
    auto answer = std::move(answers_.front());
    answers_.pop_front();
    for (auto& delta : answer.deltas) {
      emit(agent::ModelDelta{agent::ModelDelta::Kind::text, delta});
    }
    return std::move(answer.result);
  }

 private:
  std::deque<Attempt> answers_;
};

Attempt failed_attempt(Error error, std::vector<std::string> deltas = {}) {
  return {std::move(deltas), agent::fail(std::move(error))};
}

Attempt good_attempt(std::string text) {
  return {{text}, agent::Reply{.text = text}};
}

struct Run {
  agent::Result<agent::Reply> result;
  std::vector<std::string> types;
  std::vector<agent::ModelRetrying> retries;
};

Run run(std::deque<Attempt> answers, FakeClock& clock, agent::RetryPolicy policy = {}) {
  providers::RetryProvider provider(
      std::make_unique<Scripted>(std::move(answers)), policy, clock, 1);
  const agent::Conversation conversation;
  Run run;
  const agent::Emit emit = [&](agent::EventBody event) {
    run.types.emplace_back(agent::type_name(event));
    if (const auto* retrying = std::get_if<agent::ModelRetrying>(&event)) {
      run.retries.push_back(*retrying);
    }
  };
  run.result = provider.complete({.conversation = conversation}, emit, clock.source.get_token());
  return run;
}

Error failure_of(Code code) {
  return {.code = code, .message = "it failed"};
}

using Types = std::vector<std::string>;

}  // namespace

TEST_CASE("retry provider: a first answer passes through untouched", "[providers]") {
  FakeClock clock;
  const auto got = run({good_attempt("hi")}, clock);
  REQUIRE(got.result);
  CHECK(got.result->text == "hi");
  CHECK(got.types == Types{"model.delta"});
  CHECK(clock.waits.empty());
}

TEST_CASE("retry provider: each wait is announced before it is made", "[providers]") {
  FakeClock clock;
  const auto got = run({failed_attempt(failure_of(Code::provider_unavailable)),
                        failed_attempt(failure_of(Code::provider_network)),
                        good_attempt("at last")},
                       clock);
  REQUIRE(got.result);
  CHECK(got.types == Types{"model.retrying", "model.retrying", "model.delta"});
  REQUIRE(got.retries.size() == 2);
  CHECK(got.retries[0].attempt == 1);
  CHECK(got.retries[0].max_attempts == 4);
  CHECK(got.retries[0].error.code == Code::provider_unavailable);
  CHECK(got.retries[1].attempt == 2);
  CHECK(got.retries[1].error.code == Code::provider_network);
  CHECK(clock.waits == std::vector{got.retries[0].delay, got.retries[1].delay});
}

TEST_CASE("retry provider: what was streamed of a failed attempt is reset", "[providers]") {
  FakeClock clock;
  const auto got =
      run({failed_attempt(failure_of(Code::provider_stream_broken), {"half an ", "answer"}),
           failed_attempt(failure_of(Code::provider_unavailable)),
           good_attempt("whole")},
          clock);
  REQUIRE(got.result);
  CHECK(got.types == Types{"model.delta",
                           "model.delta",
                           "model.reset",
                           "model.retrying",
                           "model.retrying",
                           "model.delta"});
}

TEST_CASE("retry provider: the last error says how often it was tried, and keeps what was streamed",
          "[providers]") {
  FakeClock clock;
  const auto cut = [] {
    return failed_attempt(failure_of(Code::provider_stream_broken), {"half"});
  };
  const auto got = run({cut(), cut(), cut(), cut()}, clock);
  REQUIRE_FALSE(got.result);
  CHECK(got.result.error().code == Code::provider_stream_broken);
  CHECK(got.result.error().attempts == 4);
  CHECK(clock.waits.size() == 3);
  CHECK(got.types.back() == "model.delta");
}

TEST_CASE("retry provider: an error that cannot heal is final at once", "[providers]") {
  FakeClock clock;
  const auto got = run({failed_attempt(failure_of(Code::provider_auth))}, clock);
  REQUIRE_FALSE(got.result);
  CHECK(got.result.error().attempts == 1);
  CHECK(got.types.empty());
}

TEST_CASE("retry provider: a request that our own gate kept back was no attempt", "[providers]") {
  FakeClock clock;
  const auto got = run({failed_attempt(failure_of(Code::provider_unavailable)),
                        failed_attempt(failure_of(Code::provider_busy))},
                       clock);
  REQUIRE_FALSE(got.result);
  CHECK(got.result.error().code == Code::provider_busy);
  CHECK(got.result.error().attempts == 1);
  REQUIRE(got.result.error().cause);
  CHECK(got.result.error().cause->code == Code::provider_unavailable);
}

TEST_CASE("retry provider: a Retry-After that is too long ends it and stays on the error",
          "[providers]") {
  FakeClock clock;
  auto error = failure_of(Code::provider_rate_limited);
  error.retry_after = 10min;
  const auto got = run({failed_attempt(error)}, clock);
  REQUIRE_FALSE(got.result);
  CHECK(got.result.error().code == Code::provider_rate_limited);
  CHECK(got.result.error().retry_after == Milliseconds(10min));
  CHECK(clock.waits.empty());
}

TEST_CASE("retry provider: the waits add up against max_elapsed", "[providers]") {
  FakeClock clock;
  auto error = failure_of(Code::provider_rate_limited);
  error.retry_after = 25s;
  const auto again = [&] { return failed_attempt(error); };
  const auto got = run({again(), again(), again()}, clock);  // a third wait would cross 60 s
  REQUIRE_FALSE(got.result);
  CHECK(got.result.error().attempts == 3);
  CHECK(clock.waits.size() == 2);
}

TEST_CASE("retry provider: a stop while waiting is a cancellation with its cause", "[providers]") {
  FakeClock clock;
  clock.stop_at_wait = 2;
  const auto again = [] { return failed_attempt(failure_of(Code::provider_unavailable)); };
  const auto got = run({again(), again()}, clock);
  REQUIRE_FALSE(got.result);
  CHECK(got.result.error().code == Code::run_cancelled);
  CHECK(got.result.error().attempts == 2);
  REQUIRE(got.result.error().cause);
  CHECK(got.result.error().cause->code == Code::provider_unavailable);
}

TEST_CASE("retry provider: the real clock's wait ends with the stop", "[providers]") {
  agent::SystemClock clock;
  std::stop_source source;
  auto error = failure_of(Code::provider_rate_limited);
  error.retry_after = 20s;
  providers::RetryProvider provider(
      std::make_unique<Scripted>(std::deque{failed_attempt(error)}), {}, clock, 1);
  const agent::Conversation conversation;
  const auto start = std::chrono::steady_clock::now();
  const auto result = provider.complete(
      {.conversation = conversation},
      [&](const agent::EventBody&) { source.request_stop(); },
      source.get_token());
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::run_cancelled);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}
