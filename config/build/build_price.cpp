#include "config/build/build_price.h"

#include "config/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace config {
namespace {

void add_tier(const Value& tier,
              std::int64_t start,
              const Value& rates,
              agent::Price& price,
              Problems& problems) {
  bool says_something = false;
  for (const agent::RateField& field : agent::rate_fields()) {
    const auto amount = money_at(tier, field.key);
    if (!amount) {
      continue;
    }
    says_something = true;
    if (value_at(rates, field.key) == nullptr) {
      problems.add(tier.find(field.key)->key_span,
                   fmt::format("`{}` has a price in a tier, and none below it", field.key),
                   fmt::format("write `{}` also beside `tiers`, or take it out here", field.key));
    } else {
      field.in(price).tiers.push_back({.start = start, .price = *amount});
    }
  }
  if (!says_something) {
    problems.add(tier.span,
                 "the tier has no price",
                 "name what changes in it: `{above_input_tokens: 200k, input: 6}`");
  }
}

void add_tiers(const Value& rates, agent::Price& price, Problems& problems) {
  const Value* tiers = value_at(rates, "tiers");
  if (tiers == nullptr) {
    return;
  }
  std::vector<std::int64_t> starts;
  for (const Value& tier : tiers->items) {
    const auto start = count_at(tier, "above_input_tokens");
    if (!start) {
      continue;
    }
    if (std::ranges::find(starts, *start) != starts.end()) {
      problems.add(value_at(tier, "above_input_tokens")->span,
                   fmt::format("there are two tiers above {} input tokens", *start),
                   "put their prices into one");
      continue;
    }
    starts.push_back(*start);
    add_tier(tier, *start, rates, price, problems);
  }
}

}  // namespace

std::optional<agent::Price> build_price(const Value& map,
                                        std::string_view key,
                                        Problems& problems) {
  const Value* rates = value_at(map, key);
  if (rates == nullptr || rates->kind != Kind::map) {
    return std::nullopt;
  }
  agent::Price price;
  for (const agent::RateField& field : agent::rate_fields()) {
    if (const auto amount = money_at(*rates, field.key)) {
      field.in(price).base = *amount;
    }
  }
  add_tiers(*rates, price, problems);
  return price;
}

}  // namespace config
