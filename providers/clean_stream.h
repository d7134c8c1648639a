// What a model says, piece by piece, without the secrets that its pieces make together: over
// everything that answers, so that whoever hears of a piece can show or keep it as it is.
#pragma once
#include "agent/provider.h"
#include "agent/secrets/redact.h"

#include <memory>
#include <utility>

namespace providers {

class CleanStream final : public agent::Provider {
 public:
  // `redactor` is borrowed.
  CleanStream(std::unique_ptr<agent::Provider> inner, const agent::Redactor& redactor)
      : inner_(std::move(inner)), redactor_(redactor) {}

  // What may become a secret comes with a later piece, or before the next event of another kind.
  // The reply itself is as the model said it.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  std::unique_ptr<agent::Provider> inner_;
  const agent::Redactor& redactor_;
};

}  // namespace providers
