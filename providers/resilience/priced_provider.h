// Puts a cost on every reply, and on what came of one that broke off, that says none itself, by the
// price that holds when it comes.
#pragma once
#include "agent/clock.h"
#include "agent/price.h"
#include "agent/provider.h"

#include <memory>

namespace providers {

class PricedProvider final : public agent::Provider {
 public:
  PricedProvider(std::unique_ptr<agent::Provider> inner, agent::Tariff tariff, agent::Clock& clock)
      : inner_(std::move(inner)), tariff_(std::move(tariff)), clock_(clock) {}

  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  std::unique_ptr<agent::Provider> inner_;
  agent::Tariff tariff_;
  agent::Clock& clock_;
};

}  // namespace providers
