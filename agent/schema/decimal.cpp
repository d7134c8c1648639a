#include "agent/schema/decimal.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace agent::schema {
namespace {

constexpr std::int64_t k_most_exponent = 1'000'000'000'000'000'000;

// Behind the `e`: digits with or without a sign.
std::int64_t read_exponent(std::string_view text) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  std::int64_t exponent = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (read.ec == std::errc::result_out_of_range) {
    return text.starts_with('-') ? -k_most_exponent : k_most_exponent;
  }
  return std::clamp(exponent, -k_most_exponent, k_most_exponent);
}

std::strong_ordering compare_sizes(const Decimal& a, const Decimal& b) {
  if (a.digits.empty() || b.digits.empty()) {
    return a.digits.size() <=> b.digits.size();
  }
  const auto magnitude = [](const Decimal& number) {
    return number.exponent + static_cast<std::int64_t>(number.digits.size());
  };
  const auto order = magnitude(a) <=> magnitude(b);
  return order != 0 ? order : a.digits <=> b.digits;
}

}  // namespace

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (is_negative != other.is_negative) {
    return is_negative ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return is_negative ? compare_sizes(other, *this) : compare_sizes(*this, other);
}

Decimal decimal_of(const Json& number) {
  const std::string written = numeral(number);
  std::string_view text = written;
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.is_negative = true;
    text.remove_prefix(1);
  }
  if (const std::size_t mark = text.find_first_of("eE"); mark != std::string_view::npos) {
    decimal.exponent = read_exponent(text.substr(mark + 1));
    text = text.substr(0, mark);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  decimal.digits = text.substr(0, point);
  if (point < text.size()) {
    decimal.digits += text.substr(point + 1);
    decimal.exponent -= static_cast<std::int64_t>(text.size() - point - 1);
  }
  const std::size_t end = decimal.digits.find_last_not_of('0') + 1;  // 0 where there is none
  decimal.exponent += static_cast<std::int64_t>(decimal.digits.size() - end);
  decimal.digits.resize(end);
  decimal.digits.erase(0, decimal.digits.find_first_not_of('0'));
  return decimal.digits.empty() ? Decimal{} : decimal;
}

bool is_multiple(const Decimal& value, const Decimal& unit) {
  if (value.digits.empty()) {
    return true;
  }
  const std::int64_t zeros = value.exponent - unit.exponent;
  if (zeros < 0) {
    return false;  // the quotient's last digit is the value's own, which is not 0
  }
  std::uint64_t divisor = 0;
  std::from_chars(unit.digits.data(), unit.digits.data() + unit.digits.size(), divisor);
  std::uint64_t rest = 0;
  for (const char digit : value.digits) {
    rest = (rest * 10 + static_cast<std::uint64_t>(digit - '0')) % divisor;
  }
  // A number of 64 bits holds 2 and 5 at most 63 times: more zeros change nothing.
  for (std::int64_t zero = 0; zero < std::min<std::int64_t>(zeros, 64); ++zero) {
    rest = rest * 10 % divisor;
  }
  return rest == 0;
}

}  // namespace agent::schema
