#include "providers/resilience/priced_provider.h"

#include <utility>

namespace providers {

agent::Result<agent::Reply> PricedProvider::complete(const agent::ModelRequest& request,
                                                     const agent::Emit& emit,
                                                     std::stop_token stop) {
  auto reply = inner_->complete(request, emit, std::move(stop));
  const agent::Price* price = tariff_.at(clock_.wall());
  if (!reply || reply->cost || price == nullptr) {
    return reply;
  }
  // A server that counts no tokens does not work for nothing, unless the price says so.
  const bool is_counted = reply->counted().total() > 0;
  if (is_counted || *price == agent::Price{}) {
    reply->cost = agent::cost(*price, reply->counted());
  }
  return reply;
}

}  // namespace providers
