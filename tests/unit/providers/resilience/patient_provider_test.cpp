#include "providers/resilience/patient_provider.h"

#include "tests/support/fakes.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using agent::Code;
using agent::Error;
using providers::PatientProvider;
using tests::ScriptedProvider;
using namespace std::chrono_literals;
using Waits = std::vector<std::chrono::milliseconds>;

ScriptedProvider::Answer saying_no(Error error, int fallbacks = 0) {
  return [error = std::move(error), fallbacks](const auto&, const agent::Emit& emit) {
    for (int n = 0; n < fallbacks; ++n) {
      emit(agent::ModelFallback{.from = "one/m", .to = "two/m"});
    }
    return agent::fail(error);
  };
}

agent::Result<agent::Reply> answering(const agent::ModelRequest&, const agent::Emit& emit) {
  emit(agent::ModelFallback{.from = "one/m", .to = "two/m"});
  emit(agent::ModelDelta{});
  return agent::Reply{.text = "here"};
}

Error circuit_open(std::optional<std::chrono::milliseconds> wait) {
  return {.code = Code::provider_circuit_open, .message = "down", .retry_after = wait};
}

struct PatientOutcome {
  agent::Result<agent::Reply> reply = agent::fail(Code::internal, "not asked");
  std::vector<std::string> events;
  Waits slept;
};

PatientOutcome ask_patiently(std::deque<ScriptedProvider::Answer> answers,
                             bool is_stopped = false) {
  tests::FakeClock clock;
  PatientProvider patient(std::make_unique<ScriptedProvider>(std::move(answers)), clock);
  const agent::Conversation conversation;
  std::stop_source stop;
  PatientOutcome outcome;
  outcome.reply = patient.complete(
      {.conversation = conversation},
      [&](const agent::EventBody& event) {
        outcome.events.emplace_back(agent::type_name(event));
        if (const auto* retrying = std::get_if<agent::ModelRetrying>(&event)) {
          CHECK(retrying->max_attempts == 0);
          CHECK(retrying->error.code == Code::provider_circuit_open);
          if (is_stopped) {
            stop.request_stop();
          }
        }
      },
      stop.get_token());
  outcome.slept = clock.slept;
  return outcome;
}

using PatientEvents = std::vector<std::string>;

}  // namespace

TEST_CASE("patient provider: it waits until a model may be asked, and is asked", "[providers]") {
  const auto outcome = ask_patiently(
      {saying_no(circuit_open(12s)), saying_no(circuit_open(std::nullopt)), answering});
  REQUIRE(outcome.reply);
  CHECK(outcome.reply->text == "here");
  CHECK(outcome.slept == Waits{12s, PatientProvider::k_probe_wait});
  CHECK(outcome.events ==
        PatientEvents{"model.retrying", "model.retrying", "model.fallback", "model.delta"});
}

TEST_CASE("patient provider: no wait is longer than half a minute at once", "[providers]") {
  CHECK(ask_patiently({saying_no(circuit_open(240s)), answering}).slept == Waits{30s});
}

TEST_CASE("patient provider: what stays down is given up", "[providers]") {
  const auto outcome =
      ask_patiently({saying_no(circuit_open(30s)), saying_no(circuit_open(240s + 1ms))});
  CHECK(outcome.reply.error().code == Code::provider_circuit_open);
  CHECK(outcome.reply.error().attempts == 0);
  CHECK(outcome.slept == Waits{30s});
}

TEST_CASE("patient provider: models that are skipped are told of once", "[providers]") {
  const auto outcome =
      ask_patiently({saying_no(circuit_open(1s), 1),
                     saying_no(circuit_open(1s), 1),
                     saying_no(circuit_open(1s), 1),
                     saying_no({.code = Code::provider_unavailable, .attempts = 4}, 1)});
  CHECK(outcome.reply.error().code == Code::provider_unavailable);
  CHECK(outcome.events == PatientEvents{"model.fallback",
                                        "model.retrying",
                                        "model.retrying",
                                        "model.retrying",
                                        "model.fallback"});
}

TEST_CASE("patient provider: what was sent is not waited with", "[providers]") {
  Error sent = circuit_open(12s);
  sent.attempts = 4;  // by another model of the chain
  CHECK(ask_patiently({saying_no(sent)}).reply.error().code == Code::provider_circuit_open);
  CHECK(ask_patiently({saying_no({.code = Code::provider_auth})}).reply.error().code ==
        Code::provider_auth);
  CHECK(ask_patiently({saying_no(sent)}).slept.empty());
}

TEST_CASE("patient provider: a stop ends the wait", "[providers]") {
  const auto outcome = ask_patiently({saying_no(circuit_open(12s))}, true);
  CHECK(outcome.reply.error().code == Code::run_cancelled);
  CHECK(outcome.slept.empty());
}
