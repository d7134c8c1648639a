// Waits while every model that it could ask is known to be down, or has asked for a pause: what has
// many requests to make loses none of them to an outage of a few minutes. Above the fallback, which
// goes on to another model at once.
#pragma once
#include "agent/clock.h"
#include "agent/provider.h"
#include "agent/spec.h"

#include <memory>
#include <utility>

namespace providers {

class PatientProvider final : public agent::Provider {
 public:
  // While another request finds out whether the server is back; and the longest of all waits.
  static constexpr agent::Milliseconds k_probe_wait{2'000};
  static constexpr agent::Milliseconds k_longest_wait{30'000};
  // What is to be left alone for longer has been asked in vain for minutes: that is not waited for.
  static constexpr agent::Milliseconds k_patience{240'000};

  // `clock` is borrowed.
  PatientProvider(std::unique_ptr<agent::Provider> inner, agent::Clock& clock)
      : inner_(std::move(inner)), clock_(clock) {}

  // Emits model.retrying, with no number of attempts, before each wait. A request that anything was
  // sent for is not waited with: it ends as the inner one says. provider.circuit_open or
  // provider.busy, with no attempts, beyond its patience; run.cancelled when stopped while waiting.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  std::unique_ptr<agent::Provider> inner_;
  agent::Clock& clock_;
};

}  // namespace providers
