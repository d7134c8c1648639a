// Asks before each request whether it may still be sent.
#pragma once
#include "agent/provider.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace providers {

using Killed = std::function<std::optional<agent::Error>()>;

class StoppableProvider final : public agent::Provider {
 public:
  StoppableProvider(std::unique_ptr<agent::Provider> inner, Killed killed)
      : inner_(std::move(inner)), killed_(std::move(killed)) {}

  // The error of `killed`, where there is one: then nothing was sent.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override {
    if (auto error = killed_()) {
      return agent::fail(*std::move(error));
    }
    return inner_->complete(request, emit, std::move(stop));
  }

 private:
  std::unique_ptr<agent::Provider> inner_;
  Killed killed_;
};

}  // namespace providers
