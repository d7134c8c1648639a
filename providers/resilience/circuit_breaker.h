// Spares a provider that is down: after five final failures in a row its circuit is open, and while
// it is, nobody asks but one probe now and then. Retries nothing and waits for nothing.
#pragma once
#include "agent/clock.h"
#include "agent/error.h"
#include "agent/provider.h"
#include "agent/spec.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace providers {

// The circuit of one model, shared by all that ask it. Thread-safe.
class Circuit {
 public:
  using Steady = agent::Clock::Steady;

  enum class Leave : std::uint8_t { closed, probe, refused };
  struct Admission {
    Leave leave = Leave::closed;
    std::optional<agent::Milliseconds> retry_after = {};  // refused: when the next probe may go
    std::optional<agent::Cause> last_failure = {};        // refused: what opened it
  };

  static constexpr int k_failures = 5;  // in a row; the last one opens it
  static constexpr agent::Milliseconds k_first_pause{30'000};
  static constexpr agent::Milliseconds k_longest_pause{300'000};

  // Each leave but a refused one has to be followed by one of the three below.
  Admission admit(Steady now);
  void succeeded(Leave leave);  // closes it
  // A failed probe doubles the pause, up to the longest. What was asked before the circuit opened
  // and fails only now changes nothing.
  void failed(Leave leave, Steady now, agent::Cause failure);
  void ended_otherwise(Leave leave);  // cancelled, or an answer that says nothing about the server

 private:
  std::mutex mutex_;
  int failures_ = 0;
  agent::Milliseconds pause_ = k_first_pause;
  std::optional<Steady> open_until_;  // set: open until then, and half-open after
  bool is_probing_ = false;
  agent::Cause last_failure_{};
};

class CircuitBreaker final : public agent::Provider {
 public:
  // `circuit` and `clock` are borrowed; `provider` and `model` are for messages.
  CircuitBreaker(std::unique_ptr<agent::Provider> inner,
                 Circuit& circuit,
                 const agent::Clock& clock,
                 std::string provider,
                 std::string model)
      : inner_(std::move(inner)),
        circuit_(circuit),
        clock_(clock),
        provider_(std::move(provider)),
        model_(std::move(model)) {}

  // provider.circuit_open where the circuit refuses, with the failure that opened it as its cause.
  // Failures are what the server is to blame for; whatever has a 4xx status is none.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  agent::Error refusal(Circuit::Admission admission) const;

  std::unique_ptr<agent::Provider> inner_;
  Circuit& circuit_;
  const agent::Clock& clock_;
  std::string provider_;
  std::string model_;
};

}  // namespace providers
