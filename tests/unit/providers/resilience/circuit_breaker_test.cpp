#include "providers/resilience/circuit_breaker.h"

#include "tests/support/fakes.h"

#include <catch2/catch.hpp>

#include <thread>

namespace {

using agent::Code;
using agent::Error;
using providers::Circuit;
using Leave = Circuit::Leave;
using namespace std::chrono_literals;

const agent::Cause k_cause{Code::provider_unavailable, "down"};

Circuit::Steady at(std::chrono::milliseconds time) {
  return Circuit::Steady(24h + time);
}

// A circuit that the fifth failure opened at 0 ms.
void open(Circuit& circuit) {
  for (int n = 1; n <= Circuit::k_failures; ++n) {
    REQUIRE(circuit.admit(at(0ms)).leave == Leave::closed);
    circuit.failed(Leave::closed, at(0ms), k_cause);
  }
}

void fail_probe(Circuit& circuit, std::chrono::milliseconds time) {
  REQUIRE(circuit.admit(at(time)).leave == Leave::probe);
  circuit.failed(Leave::probe, at(time), k_cause);
}

struct Asked {
  agent::Result<agent::Reply> result;
  std::size_t requests = 0;
};

// Asks as often as there are answers, and says how the last time ended.
Asked ask(Circuit& circuit,
          tests::FakeClock& clock,
          std::deque<tests::ScriptedProvider::Answer> answers,
          std::size_t times) {
  auto inner = std::make_unique<tests::ScriptedProvider>(std::move(answers));
  const auto& seen = *inner;
  providers::CircuitBreaker breaker(std::move(inner), circuit, clock, "p", "m");
  const agent::Conversation conversation;
  Asked asked{.result = agent::fail(Code::internal, "not asked")};
  for (std::size_t n = 0; n < times; ++n) {
    asked.result = breaker.complete({.conversation = conversation}, [](const auto&) {}, {});
  }
  asked.requests = seen.conversations.size();
  return asked;
}

tests::ScriptedProvider::Answer failing(Error error) {
  return [error = std::move(error)](const auto&, const auto&) { return agent::fail(error); };
}

tests::ScriptedProvider::Answer saying(std::string text) {
  return [text = std::move(text)](const auto&, const auto&) { return agent::Reply{.text = text}; };
}

std::deque<tests::ScriptedProvider::Answer> times(std::size_t count, const Error& error) {
  return {count, failing(error)};
}

}  // namespace

TEST_CASE("circuit: the fifth failure in a row opens it", "[providers]") {
  Circuit circuit;
  for (int n = 1; n < Circuit::k_failures; ++n) {
    circuit.failed(Leave::closed, at(0ms), k_cause);
  }
  CHECK(circuit.admit(at(0ms)).leave == Leave::closed);
  circuit.failed(Leave::closed, at(0ms), k_cause);
  const auto refused = circuit.admit(at(1ms));
  CHECK(refused.leave == Leave::refused);
  CHECK(refused.retry_after == Circuit::k_first_pause - 1ms);
  REQUIRE(refused.last_failure);
  CHECK(refused.last_failure->code == Code::provider_unavailable);
}

TEST_CASE("circuit: a success starts the count over, another ending does not", "[providers]") {
  Circuit circuit;
  const auto fail = [&](int count) {
    for (int n = 0; n < count; ++n) {
      circuit.failed(Leave::closed, at(0ms), k_cause);
    }
  };
  fail(4);
  circuit.succeeded(Leave::closed);
  fail(4);
  circuit.ended_otherwise(Leave::closed);
  CHECK(circuit.admit(at(0ms)).leave == Leave::closed);
  fail(1);
  CHECK(circuit.admit(at(0ms)).leave == Leave::refused);
}

TEST_CASE("circuit: when the pause is over, one probe goes and all others wait for it",
          "[providers]") {
  Circuit circuit;
  open(circuit);
  CHECK(circuit.admit(at(Circuit::k_first_pause - 1ms)).leave == Leave::refused);
  CHECK(circuit.admit(at(Circuit::k_first_pause)).leave == Leave::probe);
  const auto second = circuit.admit(at(Circuit::k_first_pause));
  CHECK(second.leave == Leave::refused);
  CHECK_FALSE(second.retry_after);  // nobody knows

  circuit.ended_otherwise(Leave::probe);  // it said nothing: the next one may find out
  CHECK(circuit.admit(at(Circuit::k_first_pause)).leave == Leave::probe);
  circuit.succeeded(Leave::probe);
  CHECK(circuit.admit(at(Circuit::k_first_pause)).leave == Leave::closed);
}

TEST_CASE("circuit: each failed probe doubles the pause, up to the longest", "[providers]") {
  Circuit circuit;
  open(circuit);
  auto now = Circuit::k_first_pause;
  for (const auto pause : {60s, 120s, 240s, 300s, 300s}) {
    fail_probe(circuit, now);
    CHECK(circuit.admit(at(now)).retry_after == agent::Milliseconds(pause));
    CHECK(circuit.admit(at(now + pause - 1ms)).leave == Leave::refused);
    now += pause;
  }
  REQUIRE(circuit.admit(at(now)).leave == Leave::probe);
  circuit.succeeded(Leave::probe);
  open(circuit);
  CHECK(circuit.admit(at(0ms)).retry_after == Circuit::k_first_pause);
}

TEST_CASE("circuit: what was asked before it opened changes nothing by failing late",
          "[providers]") {
  Circuit circuit;
  open(circuit);
  circuit.failed(Leave::closed, at(29s), k_cause);
  REQUIRE(circuit.admit(at(30s)).leave == Leave::probe);
  circuit.failed(Leave::closed, at(30s), k_cause);
  CHECK(circuit.admit(at(30s)).leave == Leave::refused);  // the probe is still on its way
  circuit.succeeded(Leave::closed);                       // but a late answer is good news
  CHECK(circuit.admit(at(30s)).leave == Leave::closed);
}

TEST_CASE("circuit: of many threads exactly one is the probe", "[providers][threads]") {
  Circuit circuit;
  open(circuit);
  std::atomic<int> probes = 0;
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < 8; ++n) {
      threads.emplace_back([&] {
        for (int time = 0; time < 100; ++time) {
          probes += circuit.admit(at(30s)).leave == Leave::probe ? 1 : 0;
        }
      });
    }
  }
  CHECK(probes == 1);
}

TEST_CASE("circuit breaker: what the server is to blame for counts, all else does not",
          "[providers]") {
  struct Row {
    Error error;
    bool counts;
  };
  const auto row = GENERATE(values<Row>({
      {{.code = Code::provider_network}, true},
      {{.code = Code::provider_timeout}, true},
      {{.code = Code::provider_unavailable, .http_status = 503}, true},
      {{.code = Code::provider_unavailable, .http_status = 408}, false},
      {{.code = Code::provider_model_loading, .http_status = 503}, true},
      {{.code = Code::provider_stream_broken, .http_status = 200}, true},
      {{.code = Code::provider_bad_response, .http_status = 200}, true},
      {{.code = Code::provider_other, .http_status = 500}, true},
      {{.code = Code::provider_rate_limited, .http_status = 429}, false},
      {{.code = Code::provider_rate_limited, .http_status = 200}, false},
      {{.code = Code::provider_busy}, false},
      {{.code = Code::provider_auth, .http_status = 401}, false},
      {{.code = Code::provider_invalid_request, .http_status = 400}, false},
      {{.code = Code::context_overflow, .http_status = 400}, false},
      {{.code = Code::provider_tls}, false},
      {{.code = Code::run_cancelled}, false},
      {{.code = Code::os_failed}, false},
  }));
  INFO(agent::row(row.error.code).name << " " << row.error.http_status);
  Circuit circuit;
  tests::FakeClock clock;
  const auto asked = ask(circuit, clock, times(6, row.error), 6);
  CHECK(asked.requests == (row.counts ? 5 : 6));
  CHECK((asked.result.error().code == Code::provider_circuit_open) == row.counts);
}

TEST_CASE("circuit breaker: the refusal says who, until when and why", "[providers]") {
  Circuit circuit;
  tests::FakeClock clock;
  const auto asked =
      ask(circuit, clock, times(5, {.code = Code::provider_timeout, .message = "too slow"}), 6);
  REQUIRE_FALSE(asked.result);
  const Error& error = asked.result.error();
  CHECK(error.code == Code::provider_circuit_open);
  CHECK(error.message == "p/m keeps failing and is skipped for 30s");
  CHECK(error.provider == "p");
  CHECK(error.model == "m");
  CHECK(error.retry_after == Circuit::k_first_pause);
  CHECK(error.attempts == 0);
  REQUIRE(error.cause);
  CHECK(error.cause->code == Code::provider_timeout);
  CHECK(error.cause->message == "too slow");
}

TEST_CASE("circuit breaker: two runs share what they know", "[providers]") {
  Circuit circuit;
  tests::FakeClock clock;
  const Error down{.code = Code::provider_unavailable};
  CHECK(ask(circuit, clock, times(3, down), 3).requests == 3);
  CHECK(ask(circuit, clock, times(3, down), 3).requests == 2);
  clock.sleep_for(30s, {});
  const auto back = ask(circuit, clock, {saying("here"), saying("again")}, 2);
  CHECK(back.requests == 2);
  CHECK(back.result);
}
