#include "providers/resilience/priced_provider.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace providers {
namespace {

// A server that counts no tokens does not work for nothing, unless the price says so.
std::optional<agent::Money> cost_of(const agent::Usage& usage, const agent::Price* price) {
  const bool is_known = price != nullptr && (usage.total() > 0 || *price == agent::Price{});
  return is_known ? std::optional(agent::cost(*price, usage)) : std::nullopt;
}

// What the server says counts, unless it is next to nothing beside the price: a gateway that counts
// nothing, or its own fee alone, would put every limit out of force.
void settle_cost(std::optional<agent::Money>& cost,
                 const agent::Usage& usage,
                 const agent::Price* price) {
  constexpr std::int64_t k_next_to_nothing = 100;  // a hundredth
  const auto by_price = cost_of(usage, price);
  const bool is_believed =
      cost && !(by_price && cost->picos() < by_price->picos() / k_next_to_nothing);
  if (!is_believed) {
    cost = by_price;
  }
}

}  // namespace

agent::Result<agent::Reply> PricedProvider::complete(const agent::ModelRequest& request,
                                                     const agent::Emit& emit,
                                                     std::stop_token stop) {
  const auto priced = [&](agent::EventBody event) {
    auto* const broken = std::get_if<agent::ModelBroken>(&event);
    if (broken != nullptr) {
      settle_cost(broken->cost, broken->counted(), tariff_.at(clock_.wall()));
    }
    emit(std::move(event));
  };
  auto reply = inner_->complete(request, priced, std::move(stop));
  if (reply) {
    settle_cost(reply->cost, reply->counted(), tariff_.at(clock_.wall()));
  }
  return reply;
}

}  // namespace providers
