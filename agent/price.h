// What a model's tokens cost, and what follows from it. Where prices come from is others' affair.
#pragma once
#include "agent/message.h"
#include "agent/money.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace agent {

// From this many input tokens on (one more than `start`), all tokens of the request cost `price`.
struct Tier {
  std::int64_t start = 0;
  Money price;

  static void fields(auto& self, auto& field) {
    field("start", self.start);
    field("price", self.price);
  }
  bool operator==(const Tier&) const = default;
};

// Dollars per million tokens.
struct Rate {
  Money base;
  std::vector<Tier> tiers = {};

  Money at(std::int64_t input) const;
  static void fields(auto& self, auto& field) {
    field("base", self.base);
    field("tiers", self.tiers);
  }
  bool operator==(const Rate&) const = default;
};

// A rate that is missing: cache tokens are charged as input, reasoning as output.
struct Price {
  Rate input;
  Rate output;
  std::optional<Rate> cache_read = std::nullopt;
  std::optional<Rate> cache_write = std::nullopt;
  std::optional<Rate> cache_write_1h = std::nullopt;  // kept for an hour; missing: as cache_write
  std::optional<Rate> reasoning = std::nullopt;
  Money per_thousand_requests = {};

  // In the log, as those of events.
  static void fields(auto& self, auto& field) {
    field("input", self.input);
    field("output", self.output);
    field("cache_read", self.cache_read);
    field("cache_write", self.cache_write);
    field("cache_write_1h", self.cache_write_1h);
    field("reasoning", self.reasoning);
    field("per_thousand_requests", self.per_thousand_requests);
  }
  bool operator==(const Price&) const = default;
};

// One of a price's rates, by each of its names.
struct RateField {
  std::string_view key;               // in agent files and JSON: "cache_write_1h"
  std::string_view word;              // in a table of prices: "write1h"
  std::string_view label;             // for people: "cache write, 1 h"
  const Rate* (*find)(const Price&);  // null: missing
  Rate& (*in)(Price&);                // there from then on
};
std::span<const RateField> rate_fields();

// Rounded up to whole pico-dollars.
Money cost(const Price& price, const Usage& usage);
// What a request of that many input tokens costs before the first token of its answer, at most.
Money input_cost(const Price& price, std::int64_t input);
// How many tokens of an answer `left` pays for, behind `input` tokens of the request; nullopt where
// they cost nothing.
std::optional<std::int64_t> affordable_output(const Price& price, Money left, std::int64_t input);

// A price with the days or hours in which it holds.
struct PricePeriod {
  std::optional<std::chrono::sys_days> from = std::nullopt;  // and ever after
  // A time of day (UTC), the second one excluded; over midnight where it is the smaller one.
  std::optional<std::chrono::seconds> begin = std::nullopt;
  std::optional<std::chrono::seconds> end = std::nullopt;
  Price price = {};

  bool holds(std::chrono::system_clock::time_point time) const;
  bool operator==(const PricePeriod&) const = default;
};

// All prices of a model: the last period that holds counts.
struct Tariff {
  std::vector<PricePeriod> periods;

  const Price* at(std::chrono::system_clock::time_point time) const;  // null: none holds
  bool operator==(const Tariff&) const = default;
};

}  // namespace agent
