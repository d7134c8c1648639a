// The one layer that asks a model again after a failure. Everything below it tries once.
#pragma once
#include "agent/clock.h"
#include "agent/provider.h"
#include "agent/spec.h"

#include <cstdint>
#include <memory>
#include <random>

namespace providers {

class RetryProvider final : public agent::Provider {
 public:
  // `clock` is borrowed. The same seed gives the same waits.
  RetryProvider(std::unique_ptr<agent::Provider> inner,
                agent::RetryPolicy policy,
                agent::Clock& clock,
                std::uint64_t seed)
      : inner_(std::move(inner)), policy_(policy), clock_(clock), rng_(seed) {}

  // Emits model.reset (where something of the failed attempt was streamed) and model.retrying
  // before each wait. The error is the last attempt's, with the number of attempts on it;
  // run.cancelled when stopped while waiting, and provider.busy where the gate lets no further one
  // through, with the last failure as the cause.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  std::unique_ptr<agent::Provider> inner_;
  agent::RetryPolicy policy_;
  agent::Clock& clock_;
  std::mt19937_64 rng_;
};

}  // namespace providers
