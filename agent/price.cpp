#include "agent/price.h"

#include <algorithm>
#include <array>

namespace agent {
namespace {

// Tokens times pico-dollars per million: more than 64 bits hold.
__extension__ using Product = __int128;
constexpr Product k_million = 1'000'000;

Product times(std::int64_t tokens, Money rate) {
  return static_cast<Product>(std::max<std::int64_t>(tokens, 0)) * rate.picos();
}

Money rounded_up(Product millionths) {
  const Product picos = (millionths + k_million - 1) / k_million;
  return picos > Money::max().picos() ? Money::max()
                                      : Money::from_picos(static_cast<std::int64_t>(picos));
}

Money rate_of(const std::optional<Rate>& rate, const Rate& otherwise, std::int64_t input) {
  return (rate ? *rate : otherwise).at(input);
}

const Rate* found(const Rate& rate) {
  return &rate;
}
const Rate* found(const std::optional<Rate>& rate) {
  return rate ? &*rate : nullptr;
}
Rate& made(Rate& rate) {
  return rate;
}
Rate& made(std::optional<Rate>& rate) {
  return rate ? *rate : rate.emplace();
}

template <auto Member>
constexpr RateField field(std::string_view key, std::string_view word, std::string_view label) {
  return {.key = key,
          .word = word,
          .label = label,
          .find = [](const Price& price) { return found(price.*Member); },
          .in = [](Price& price) -> Rate& { return made(price.*Member); }};
}

constexpr std::array k_rate_fields = {
    field<&Price::input>("input", "in", "input"),
    field<&Price::output>("output", "out", "output"),
    field<&Price::cache_read>("cache_read", "read", "cache read"),
    field<&Price::cache_write>("cache_write", "write", "cache write"),
    field<&Price::cache_write_1h>("cache_write_1h", "write1h", "cache write, 1 h"),
    field<&Price::reasoning>("reasoning", "think", "reasoning"),
};

constexpr Product k_thousandths = 1'000;  // of the fee for a thousand requests, in millionths

}  // namespace

Money Rate::at(std::int64_t input) const {
  const Tier* reached = nullptr;
  for (const Tier& tier : tiers) {
    if (tier.start < input && (reached == nullptr || tier.start > reached->start)) {
      reached = &tier;
    }
  }
  return reached != nullptr ? reached->price : base;
}

std::span<const RateField> rate_fields() {
  return k_rate_fields;
}

Money cost(const Price& price, const Usage& usage) {
  const std::int64_t fresh = usage.input - usage.cache_read - usage.cache_write;
  const std::int64_t spoken = usage.output - usage.reasoning;
  const Rate& write = price.cache_write ? *price.cache_write : price.input;
  return rounded_up(times(fresh, price.input.at(usage.input)) +
                    times(usage.cache_read, rate_of(price.cache_read, price.input, usage.input)) +
                    times(usage.cache_write - usage.cache_write_1h, write.at(usage.input)) +
                    times(usage.cache_write_1h, rate_of(price.cache_write_1h, write, usage.input)) +
                    times(spoken, price.output.at(usage.input)) +
                    times(usage.reasoning, rate_of(price.reasoning, price.output, usage.input)) +
                    price.per_thousand_requests.picos() * k_thousandths);
}

Money input_cost(const Price& price, std::int64_t input) {
  const Money rate =
      std::max(price.input.at(input), rate_of(price.cache_write, price.input, input));
  return rounded_up(times(input, rate) + price.per_thousand_requests.picos() * k_thousandths);
}

std::optional<std::int64_t> affordable_output(const Price& price, Money left, std::int64_t input) {
  const Money rate =
      std::max(price.output.at(input), rate_of(price.reasoning, price.output, input));
  if (rate == Money{}) {
    return std::nullopt;
  }
  const Money for_output = left - input_cost(price, input);
  const Product tokens = for_output.picos() * k_million / rate.picos();
  return static_cast<std::int64_t>(std::min<Product>(tokens, INT64_MAX));
}

bool PricePeriod::holds(std::chrono::system_clock::time_point time) const {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  if (from && day < *from) {
    return false;
  }
  if (!begin || !end) {
    return true;
  }
  const auto clock = time - day;
  return *begin <= *end ? clock >= *begin && clock < *end : clock >= *begin || clock < *end;
}

const Price* Tariff::at(std::chrono::system_clock::time_point time) const {
  const auto found = std::find_if(
      periods.rbegin(), periods.rend(), [&](const PricePeriod& one) { return one.holds(time); });
  return found == periods.rend() ? nullptr : &found->price;
}

}  // namespace agent
