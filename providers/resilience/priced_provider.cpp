#include "providers/resilience/priced_provider.h"

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

}  // namespace

agent::Result<agent::Reply> PricedProvider::complete(const agent::ModelRequest& request,
                                                     const agent::Emit& emit,
                                                     std::stop_token stop) {
  const auto priced = [&](agent::EventBody event) {
    auto* const broken = std::get_if<agent::ModelBroken>(&event);
    if (broken != nullptr && !broken->cost) {
      broken->cost = cost_of(broken->counted(), tariff_.at(clock_.wall()));
    }
    emit(std::move(event));
  };
  auto reply = inner_->complete(request, priced, std::move(stop));
  if (reply && !reply->cost) {
    reply->cost = cost_of(reply->counted(), tariff_.at(clock_.wall()));
  }
  return reply;
}

}  // namespace providers
