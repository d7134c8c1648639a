#include "agent/price.h"

#include <catch2/catch.hpp>

using agent::Money;
using agent::Price;
using agent::Rate;
using agent::Usage;
using namespace std::chrono_literals;

namespace {

Money usd(const char* text) {
  return Money::parse(text).value();
}

const Price k_price{.input = {.base = usd("3"), .tiers = {{200'000, usd("6")}}},
                    .output = {.base = usd("15"), .tiers = {{200'000, usd("22.5")}}},
                    .cache_read = Rate{.base = usd("0.3")},
                    .cache_write = Rate{.base = usd("3.75")},
                    .cache_write_1h = Rate{.base = usd("6")}};

std::chrono::system_clock::time_point at(int year,
                                         unsigned month,
                                         unsigned day,
                                         std::chrono::seconds time = 0s) {
  return std::chrono::sys_days(std::chrono::year_month_day(
             std::chrono::year(year), std::chrono::month(month), std::chrono::day(day))) +
         time;
}

}  // namespace

TEST_CASE("price: each kind of token has its rate", "[agent]") {
  CHECK(cost(k_price, {}) == Money{});
  CHECK(cost(k_price, {.input = 1'000'000 / 10}) == usd("0.3"));
  CHECK(cost(k_price, {.output = 2}) == usd("0.00003"));
  CHECK(cost(k_price, {.input = 1000, .output = 100, .cache_read = 600, .cache_write = 300}) ==
        usd("0.0003") + usd("0.00018") + usd("0.001125") + usd("0.0015"));
  CHECK(cost(k_price, {.input = 300, .cache_write = 300, .cache_write_1h = 100}) ==
        usd("0.00075") + usd("0.0006"));
}

TEST_CASE("price: cache tokens without a rate are charged as input, thoughts as output",
          "[agent]") {
  Price price{.input = {.base = usd("1")}, .output = {.base = usd("2")}};
  const Usage usage{
      .input = 100, .output = 50, .cache_read = 40, .cache_write = 30, .reasoning = 20};
  CHECK(cost(price, usage) == usd("0.0002"));
  price.reasoning = Rate{.base = usd("4")};
  CHECK(cost(price, usage) == usd("0.00024"));
}

TEST_CASE("price: the tier counts from the token above its start, for all tokens", "[agent]") {
  CHECK(cost(k_price, {.input = 200'000}) == usd("0.6"));
  CHECK(cost(k_price, {.input = 200'001}) == usd("1.200006"));
  CHECK(cost(k_price, {.input = 200'001, .output = 1'000, .cache_read = 200'001}) ==
        usd("0.0600003") + usd("0.0225"));
  const Rate rate{.base = usd("1"), .tiers = {{500, usd("3")}, {100, usd("2")}}};
  CHECK(rate.at(100) == usd("1"));
  CHECK(rate.at(101) == usd("2"));
  CHECK(rate.at(501) == usd("3"));
}

TEST_CASE("price: a part of a pico-dollar is charged as a whole one", "[agent]") {
  const Price price{.input = {.base = Money::from_picos(1)}, .output = {.base = Money{}}};
  CHECK(cost(price, {.input = 1}) == Money::from_picos(1));
  CHECK(cost(price, {.input = 1'000'000}) == Money::from_picos(1));
  CHECK(cost(price, {.input = 1'000'001}) == Money::from_picos(2));
}

TEST_CASE("price: a fee for a request is charged with every reply", "[agent]") {
  const Price price{
      .input = {.base = usd("1")}, .output = {.base = usd("1")}, .per_thousand_requests = usd("5")};
  CHECK(cost(price, {.input = 1}) == usd("0.005001"));
  CHECK(input_cost(price, 1) == usd("0.005001"));
}

TEST_CASE("price: no number of tokens overflows", "[agent]") {
  const Price price{.input = {.base = Money::max()}, .output = {.base = Money::max()}};
  CHECK(cost(price, {.input = INT64_MAX, .output = INT64_MAX}) == Money::max());
  CHECK(cost(price, {.input = -5}) == Money{});
  CHECK(input_cost(price, INT64_MAX) == Money::max());
  CHECK(affordable_output(
            {.input = {}, .output = {.base = Money::from_picos(1)}}, Money::max(), 0) == INT64_MAX);
}

TEST_CASE("price: what is left behind the input buys whole tokens", "[agent]") {
  const Price price{.input = {.base = usd("1")}, .output = {.base = usd("2")}};
  CHECK(affordable_output(price, usd("0.0001"), 100) == 0);
  CHECK(affordable_output(price, usd("0.000101999999"), 100) == 0);
  CHECK(affordable_output(price, usd("0.000102"), 100) == 1);
  CHECK(affordable_output(price, usd("0"), 100) == 0);
  CHECK_FALSE(affordable_output({.input = {.base = usd("1")}}, usd("1"), 100));

  // The dearest that the input may become, and the dearest of what is said.
  CHECK(input_cost(k_price, 1000) == usd("0.00375"));
  const Price thinks{
      .input = {}, .output = {.base = usd("2")}, .reasoning = Rate{.base = usd("4")}};
  CHECK(affordable_output(thinks, usd("0.000004"), 0) == 1);
}

TEST_CASE("price: the last period that holds counts", "[agent]") {
  agent::Tariff tariff;
  CHECK(tariff.at(at(2026, 1, 1)) == nullptr);
  tariff.periods = {
      {.price = {.input = {.base = usd("1")}}},
      {.from = std::chrono::floor<std::chrono::days>(at(2026, 3, 13)),
       .price = {.input = {.base = usd("2")}}},
      {.begin = 30min, .end = 16h + 30min, .price = {.input = {.base = usd("3")}}},
  };
  const auto input = [&](std::chrono::system_clock::time_point time) {
    return tariff.at(time)->input.base;
  };
  CHECK(input(at(2026, 3, 12, 23h + 59min)) == usd("1"));
  CHECK(input(at(2026, 3, 13)) == usd("2"));
  CHECK(input(at(2026, 3, 13, 30min)) == usd("3"));
  CHECK(input(at(2026, 3, 13, 16h + 30min - 1s)) == usd("3"));
  CHECK(input(at(2026, 3, 13, 16h + 30min)) == usd("2"));

  tariff.periods.back().begin = 22h;  // over midnight
  tariff.periods.back().end = 6h;
  CHECK(input(at(2026, 3, 13, 23h)) == usd("3"));
  CHECK(input(at(2026, 3, 13, 6h - 1s)) == usd("3"));
  CHECK(input(at(2026, 3, 13, 6h)) == usd("2"));
}
