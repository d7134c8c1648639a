// Numbers as the decimal fractions that people write: compared and divided without rounding.
#pragma once
#include "agent/json.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace agent::schema {

// digits × 10^exponent, with no zero at either end of the digits; zero has none.
struct Decimal {
  bool is_negative = false;
  std::string digits;
  std::int64_t exponent = 0;

  bool is_whole() const { return exponent >= 0; }
  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const = default;
};

// Of a number. Exponents beyond ±10^18 count as those.
Decimal decimal_of(const Json& number);

// `unit` is above 0.
constexpr std::size_t k_most_unit_digits = 18;
bool is_multiple(const Decimal& value, const Decimal& unit);

}  // namespace agent::schema
