#include "agent/duration.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace agent {
namespace {

using std::chrono::milliseconds;

// Takes the digits at the start of `text`.
std::string_view take_digits(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) {
    ++end;
  }
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

// A decimal number as it was written: exact, where a double would round.
struct Number {
  std::string_view whole;
  std::string_view fraction;  // without trailing zeros
};

std::optional<Number> take_decimal(std::string_view& text) {
  Number decimal{.whole = take_digits(text), .fraction = {}};
  if (decimal.whole.empty()) {
    return std::nullopt;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimal.fraction = take_digits(text);
    if (decimal.fraction.empty()) {
      return std::nullopt;
    }
  }
  while (decimal.fraction.ends_with('0')) {
    decimal.fraction.remove_suffix(1);
  }
  return decimal;
}

// The digits as a number of at most `max`.
std::optional<std::int64_t> to_integer(std::string_view digits, std::int64_t max) {
  std::int64_t value = 0;
  for (const char digit : digits) {
    const std::int64_t next = digit - '0';
    if (next > max || value > (max - next) / 10) {
      return std::nullopt;
    }
    value = value * 10 + next;
  }
  return value;
}

constexpr std::size_t k_max_fraction = 9;  // digits: times the largest unit it still fits 64 bits

// decimal × unit, where that is a whole number of at most `max`.
std::optional<std::int64_t> scaled(const Number& decimal, std::int64_t unit, std::int64_t max) {
  const auto whole = to_integer(decimal.whole, max / unit);
  if (!whole || decimal.fraction.size() > k_max_fraction) {
    return std::nullopt;
  }
  std::int64_t denominator = 1;
  for (std::size_t digit = 0; digit < decimal.fraction.size(); ++digit) {
    denominator *= 10;
  }
  const std::int64_t numerator = *to_integer(decimal.fraction, denominator) * unit;
  const std::int64_t part = numerator / denominator;
  if (numerator % denominator != 0 || part > max - *whole * unit) {
    return std::nullopt;
  }
  return *whole * unit + part;
}

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

template <std::size_t N>
const Unit* take_unit(std::string_view& text, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return &unit;
    }
  }
  return nullptr;
}

// "ms" before "m": the first that fits is taken.
constexpr auto k_time_units = std::to_array<Unit>(
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}});
constexpr std::int64_t k_max_milliseconds = 36'525LL * 86'400'000;  // 100 years
constexpr auto k_count_units =
    std::to_array<Unit>({{"k", 1'000}, {"K", 1'000}, {"M", 1'000'000}, {"G", 1'000'000'000}});

// A number of exactly `digits` digits.
std::optional<int> take_fixed(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) {
    return std::nullopt;
  }
  for (const char c : text.substr(0, digits)) {
    if (!is_digit(c)) {
      return std::nullopt;
    }
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// A two-digit number of at most `max`, with `before` in front of it (empty: nothing).
std::optional<int> take_part(std::string_view& text, std::string_view before, int max) {
  if (!before.empty() && !take(text, before)) {
    return std::nullopt;
  }
  const auto value = take_fixed(text, 2);
  return value && *value <= max ? value : std::nullopt;
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const auto year = take_fixed(text, 4);
  const auto month = take_part(text, "-", 12);
  const auto day = take_part(text, "-", 31);
  if (!year || !month || !day || !is_clock_year(*year)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

// ".123456" to the millisecond; nothing is 0.
std::optional<milliseconds> take_fraction(std::string_view& text) {
  if (!take(text, ".")) {
    return milliseconds{0};
  }
  const std::string_view digits = take_digits(text);
  if (digits.empty()) {
    return std::nullopt;
  }
  int value = 0;
  for (std::size_t at = 0; at < 3; ++at) {
    value = value * 10 + (at < digits.size() ? digits[at] - '0' : 0);
  }
  return milliseconds{value};
}

// "Z" or "+01:30"; what has to be taken off to get UTC.
std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take(text, "Zz")) {
    return std::chrono::minutes{0};
  }
  const bool is_behind = text.starts_with('-');
  const auto hours = take_part(text, "+-", 23);
  const auto minutes = take_part(text, ":", 59);
  if (!hours || !minutes) {
    return std::nullopt;
  }
  const std::chrono::minutes offset{*hours * 60 + *minutes};
  return is_behind ? -offset : offset;
}

}  // namespace

std::optional<milliseconds> parse_duration(std::string_view text) {
  std::int64_t total = 0;
  std::int64_t last_factor = std::numeric_limits<std::int64_t>::max();
  if (text.empty()) {
    return std::nullopt;
  }
  while (!text.empty()) {
    const auto number = take_decimal(text);
    const Unit* unit = number ? take_unit(text, k_time_units) : nullptr;
    if (unit == nullptr || unit->factor >= last_factor) {
      return std::nullopt;
    }
    last_factor = unit->factor;
    const auto part = scaled(*number, unit->factor, k_max_milliseconds - total);
    if (!part) {
      return std::nullopt;
    }
    total += *part;
  }
  return milliseconds{total};
}

std::string format_duration(milliseconds time) {
  const std::int64_t count = time.count();
  if (count < 0) {
    return "-" + format_duration(-time);
  }
  if (count < 1'000) {
    return count == 0 ? "0s" : fmt::format("{}ms", count);
  }
  std::string out;
  if (const std::int64_t hours = count / 3'600'000; hours > 0) {
    out += fmt::format("{}h", hours);
  }
  if (const std::int64_t minutes = count / 60'000 % 60; minutes > 0) {
    out += fmt::format("{}m", minutes);
  }
  if (const std::int64_t rest = count % 60'000; rest > 0) {
    std::string seconds = fmt::format("{}.{:03}", rest / 1'000, rest % 1'000);
    seconds.erase(seconds.find_last_not_of('0') + 1);
    out += (seconds.ends_with('.') ? seconds.substr(0, seconds.size() - 1) : seconds) + "s";
  }
  return out;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  const auto number = take_decimal(text);
  if (!number) {
    return std::nullopt;
  }
  const Unit* unit = take_unit(text, k_count_units);
  if (!text.empty()) {
    return std::nullopt;
  }
  return scaled(
      *number, unit == nullptr ? 1 : unit->factor, std::numeric_limits<std::int64_t>::max());
}

std::string format_time(std::chrono::system_clock::time_point time) {
  const auto point = std::chrono::floor<milliseconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(point);
  const std::chrono::hh_mm_ss clock{point - day};
  return fmt::format("{}T{:02}:{:02}:{:02}.{:03}Z",
                     format_day(day),
                     clock.hours().count(),
                     clock.minutes().count(),
                     clock.seconds().count(),
                     clock.subseconds().count());
}

std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text) {
  const auto date = take_date(text);
  if (!date || !take(text, "Tt ")) {
    return std::nullopt;
  }
  const auto hour = take_part(text, "", 23);
  const auto minute = take_part(text, ":", 59);
  const auto second = take_part(text, ":", 60);  // 60: a leap second
  const auto fraction = take_fraction(text);
  if (!hour || !minute || !second || !fraction) {
    return std::nullopt;
  }
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) {
    return std::nullopt;
  }
  return *date + std::chrono::hours{*hour} + std::chrono::minutes{*minute} +
         std::chrono::seconds{*second} + *fraction - *offset;
}

std::chrono::system_clock::time_point later(std::chrono::system_clock::time_point time,
                                            milliseconds wait) {
  constexpr std::chrono::system_clock::time_point k_last{
      std::chrono::sys_days{std::chrono::year{2200} / 12 / 31}};
  const auto sum = std::chrono::floor<milliseconds>(time.time_since_epoch()) + wait;
  return std::chrono::system_clock::time_point(
      std::min(sum, std::chrono::floor<milliseconds>(k_last.time_since_epoch())));
}

std::optional<std::chrono::sys_days> parse_day(std::string_view text) {
  const auto day = take_date(text);
  return text.empty() ? day : std::nullopt;
}

std::string format_day(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text) {
  text.remove_suffix(text.ends_with('Z') ? 1 : 0);
  const auto hours = take_part(text, "", 23);
  const auto minutes = take_part(text, ":", 59);
  const auto seconds = text.empty() ? std::optional(0) : take_part(text, ":", 59);
  if (!hours || !minutes || !seconds || !text.empty()) {
    return std::nullopt;
  }
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes) +
         std::chrono::seconds(*seconds);
}

std::string format_time_of_day(std::chrono::seconds time) {
  const auto seconds = time.count();
  const auto text = fmt::format("{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
  return seconds % 60 == 0 ? text : fmt::format("{}:{:02}", text, seconds % 60);
}

}  // namespace agent
