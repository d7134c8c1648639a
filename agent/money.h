// US dollars as a whole number of pico-dollars: decimal and exact, never floating point. Nothing
// here knows what costs money.
#pragma once
#include "agent/json.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

// Never negative; what would be over max(), about nine million dollars, stays there.
class Money {
 public:
  static constexpr int k_decimals = 12;

  constexpr Money() = default;
  static constexpr Money from_picos(std::int64_t picos) { return Money(picos < 0 ? 0 : picos); }
  static constexpr Money max() { return Money(INT64_MAX); }
  // "1.50", ".5", "3e-6". nullopt where it is no decimal number, is negative, is over max(), or has
  // more decimals than are kept.
  static std::optional<Money> parse(std::string_view text);
  // The same, but for decimals too many, which are rounded: for numbers that others calculated.
  static std::optional<Money> parse_rounded(std::string_view text);
  // Of a JSON number. Its digits are those of the shortest decimal that means the same double, so
  // that an amount of up to 15 digits comes out as it was written.
  static std::optional<Money> from_json(const Json& number);

  constexpr std::int64_t picos() const { return picos_; }
  std::string text() const;  // all digits and no more: "0.3", "12"
  // The double nearest to the amount, for JSON and for people; never to calculate with.
  double dollars() const;

  Money& operator+=(Money other);
  friend Money operator+(Money a, Money b) { return a += b; }
  friend constexpr Money operator-(Money a, Money b) { return from_picos(a.picos_ - b.picos_); }
  constexpr auto operator<=>(const Money&) const = default;

 private:
  explicit constexpr Money(std::int64_t picos) : picos_(picos) {}

  std::int64_t picos_ = 0;
};

// nullopt where one of them is unknown.
std::optional<Money> sum_of(std::optional<Money> a, std::optional<Money> b);

// A JSON number, or null where the amount is unknown. It is the double nearest to the amount: below
// a thousand dollars, rounding it to 12 decimals gives the amount back, as from_json does.
Json to_json(std::optional<Money> money);
// The member, as from_json reads it; nullopt also where it is missing or null.
std::optional<Money> money_at(const Json& object, std::string_view key);
// For people: "$0.0042", at least two decimals and at most six, rounded up; "unknown".
std::string format_money(std::optional<Money> money);

}  // namespace agent
