#include "agent/money.h"

#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace agent {
namespace {

constexpr std::int64_t k_dollar = 1'000'000'000'000;
constexpr std::int64_t k_micro = 1'000'000;  // the last digit that people are shown
constexpr std::size_t k_longest_text = 400;

// A decimal number as its digits and the power of ten of the last one.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

// Takes the digits at the beginning of `text`.
std::size_t take_digits(std::string_view& text, std::string& digits) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  digits += text.substr(0, count);
  text.remove_prefix(count);
  return count;
}

std::optional<int> parse_exponent(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) {
      return std::nullopt;
    }
  }
  int exponent = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  const bool is_whole = failure == std::errc{} && end == text.data() + text.size();
  return is_whole && exponent > -1'000 && exponent < 1'000 ? std::optional(exponent) : std::nullopt;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  if (text.size() > k_longest_text) {
    return std::nullopt;
  }
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  Decimal decimal;
  take_digits(text, decimal.digits);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimal.exponent = -static_cast<int>(take_digits(text, decimal.digits));
  }
  if (decimal.digits.empty()) {
    return std::nullopt;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    const auto exponent = parse_exponent(text.substr(1));
    if (!exponent) {
      return std::nullopt;
    }
    decimal.exponent += *exponent;
    text = {};
  }
  decimal.digits.erase(0, std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size()));
  return text.empty() ? std::optional(std::move(decimal)) : std::nullopt;
}

enum class Excess : std::uint8_t { refuse, round };

std::optional<std::int64_t> to_picos(Decimal decimal, Excess excess) {
  const int shift = decimal.exponent + Money::k_decimals;
  bool rounds_up = false;
  if (shift < 0) {
    const auto dropped = static_cast<std::size_t>(-shift);
    const auto kept = decimal.digits.size() - std::min(dropped, decimal.digits.size());
    const std::string_view tail = std::string_view(decimal.digits).substr(kept);
    if (excess == Excess::refuse && tail.find_first_not_of('0') != std::string_view::npos) {
      return std::nullopt;
    }
    rounds_up = tail.size() == dropped && tail.front() >= '5';
    decimal.digits.resize(kept);
  } else if (!decimal.digits.empty()) {
    decimal.digits.append(static_cast<std::size_t>(shift), '0');
  }
  if (decimal.digits.empty()) {
    return rounds_up ? 1 : 0;
  }
  std::int64_t picos = 0;
  const char* const last = decimal.digits.data() + decimal.digits.size();
  if (std::from_chars(decimal.digits.data(), last, picos).ec != std::errc{} || picos == INT64_MAX) {
    return std::nullopt;
  }
  return picos + (rounds_up ? 1 : 0);
}

std::optional<Money> parse_money(std::string_view text, Excess excess) {
  auto decimal = parse_decimal(text);
  const auto picos = decimal ? to_picos(std::move(*decimal), excess) : std::nullopt;
  return picos ? std::optional(Money::from_picos(*picos)) : std::nullopt;
}

// Without the zeros at the end of its decimals, of which at least `least` stay.
std::string trimmed(std::string text, std::size_t least) {
  const std::size_t point = text.find('.');
  const std::size_t last = text.find_last_not_of('0');
  text.resize(std::max(last + 1, point + 1 + least));
  if (text.ends_with('.')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

std::optional<Money> Money::parse(std::string_view text) {
  return parse_money(text, Excess::refuse);
}

std::optional<Money> Money::parse_rounded(std::string_view text) {
  return parse_money(text, Excess::round);
}

std::optional<Money> Money::from_json(const Json& number) {
  if (number.is_number_integer()) {
    return parse(number.dump());
  }
  if (!number.is_number_float()) {
    return is_number(number) ? parse_rounded(numeral(number)) : std::nullopt;
  }
  std::array<char, 64> buffer{};
  const auto [end, failure] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number.get<double>());
  return failure == std::errc{} ? parse_rounded({buffer.data(), end}) : std::nullopt;
}

std::string Money::text() const {
  return trimmed(fmt::format("{}.{:012}", picos_ / k_dollar, picos_ % k_dollar), 0);
}

double Money::dollars() const {
  const std::string digits = text();
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

Money& Money::operator+=(Money other) {
  picos_ = picos_ > INT64_MAX - other.picos_ ? INT64_MAX : picos_ + other.picos_;
  return *this;
}

Json to_json(std::optional<Money> money) {
  return money ? number_json(money->dollars()) : Json(nullptr);
}

std::optional<Money> money_at(const Json& object, std::string_view key) {
  const Json* amount = find(object, key);
  return amount != nullptr ? Money::from_json(*amount) : std::nullopt;
}

std::string format_money(std::optional<Money> money) {
  if (!money) {
    return "unknown";
  }
  const std::int64_t micros = money->picos() / k_micro + (money->picos() % k_micro != 0 ? 1 : 0);
  return trimmed(fmt::format("${}.{:06}", micros / k_micro, micros % k_micro), 2);
}

std::optional<Money> sum_of(std::optional<Money> a, std::optional<Money> b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

}  // namespace agent
