#include "providers/wire/retry_after.h"

#include "agent/duration.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace providers {
namespace {

using agent::Clock;
using agent::Headers;
using agent::Json;
using std::chrono::milliseconds;
using Wait = std::optional<milliseconds>;

constexpr milliseconds k_longest = std::chrono::hours(24 * 366);
constexpr int k_last_year = 2200;  // of agent::is_clock_year
static_assert(agent::is_clock_year(k_last_year) && !agent::is_clock_year(k_last_year + 1));
constexpr auto k_npos = std::string_view::npos;

std::optional<double> number_in(std::string_view text) {
  text = agent::trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// Rounded up, so that the wait is never short of what was asked for. One beyond all bounds is a
// long one all the same; none at all: nullopt.
Wait wait_of(double count, milliseconds unit) {
  const double time = std::ceil(count * static_cast<double>(unit.count()));
  if (!(time > 0)) {
    return std::nullopt;
  }
  return time < static_cast<double>(k_longest.count())
             ? milliseconds(static_cast<milliseconds::rep>(time))
             : k_longest;
}

Wait wait_until(Clock::Wall then, Clock::Wall now) {
  return then <= now              ? Wait()
         : then - now < k_longest ? std::chrono::ceil<milliseconds>(then - now)
                                  : k_longest;
}

Wait longer(Wait a, Wait b) {
  return a && (!b || *a > *b) ? a : b;
}

// A reset as a bare number is seconds from now, or an epoch in seconds or milliseconds.
Wait reset_number(double value, Clock::Wall now) {
  constexpr double k_epoch_seconds = 1e9;
  constexpr double k_epoch_milliseconds = 1e12;
  constexpr double k_latest = 7e12;  // in the year 2191: the clock's nanoseconds end in 2262
  if (value >= k_epoch_seconds) {
    const double time = value >= k_epoch_milliseconds ? value : value * 1000;
    return time < k_latest
               ? wait_until(Clock::Wall(milliseconds(static_cast<std::int64_t>(time))), now)
               : Wait();
  }
  return wait_of(value, std::chrono::seconds(1));
}

// Like agent::parse_duration, but for what servers write: "6m0s", "1.24s", "17ms", "0s".
Wait duration(std::string_view text) {
  double total = 0;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::string_view unit = text.substr(0, text.find_first_of("0123456789."));
    if (unit == "ms") {
      total += value;
    } else if (unit == "s") {
      total += value * 1e3;
    } else if (unit == "m") {
      total += value * 6e4;
    } else if (unit == "h") {
      total += value * 3.6e6;
    } else if (unit == "d") {
      total += value * 8.64e7;
    } else {
      return std::nullopt;
    }
    text.remove_prefix(unit.size());
  }
  return wait_of(total, milliseconds(1));
}

Wait reset_wait(std::string_view text, Clock::Wall now) {
  text = agent::trimmed(text);
  if (const auto value = number_in(text)) {
    return reset_number(*value, now);
  }
  if (const auto time = agent::parse_time(text)) {
    return wait_until(*time, now);
  }
  return duration(text);
}

// The header that counts what is left of the limit whose reset is `name`.
std::string remaining_name(std::string name) {
  constexpr std::string_view k_reset = "reset";
  return name.replace(name.find(k_reset), k_reset.size(), "remaining");
}

Wait reset_of(const Headers& headers, Clock::Wall now) {
  Wait longest;
  for (const auto& [field, value] : headers) {
    const std::string name = agent::to_lower(field);
    const bool is_ours = name.starts_with("anthropic-ratelimit-") ||
                         name.starts_with("x-ratelimit-") || name.starts_with("ratelimit-");
    if (!is_ours || name.find("reset") == k_npos) {
      continue;
    }
    const std::string_view remaining = agent::header(headers, remaining_name(name));
    const Wait wait = reset_wait(value, now);
    const bool is_used_up = remaining.empty() || number_in(remaining).value_or(1) <= 0;
    if (is_used_up && wait < k_longest) {  // a later one is a slip of the units
      longest = longer(longest, wait);
    }
  }
  return longest;
}

// "5 seconds", "1.24s", "6m0s" at the start of `text`.
Wait spoken_duration(std::string_view text) {
  const auto digits = text.find_first_not_of("0123456789.");
  std::string_view amount = text.substr(0, digits);
  while (amount.ends_with('.')) {
    amount.remove_suffix(1);
  }
  const auto value = number_in(amount);
  if (!value || digits == k_npos) {
    return std::nullopt;
  }
  if (text[digits] == ' ') {
    const std::string_view word = text.substr(digits + 1);
    if (word.starts_with("ms") || word.starts_with("milli")) {
      return wait_of(*value, milliseconds(1));
    }
    if (word.starts_with("s")) {
      return wait_of(*value, std::chrono::seconds(1));
    }
    if (word.starts_with("m")) {
      return wait_of(*value, std::chrono::minutes(1));
    }
    if (word.starts_with("h")) {
      return wait_of(*value, std::chrono::hours(1));
    }
    return word.starts_with("d") ? wait_of(*value, std::chrono::days(1)) : std::nullopt;
  }
  std::string_view compact = text.substr(0, text.find_first_not_of("0123456789.dhms"));
  while (compact.ends_with('.')) {
    compact.remove_suffix(1);
  }
  return duration(compact);
}

int month_number(std::string_view name) {
  constexpr std::string_view k_months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto at = k_months.find(name);
  return name.size() == 3 && at != k_npos && at % 3 == 0 ? static_cast<int>(at / 3) + 1 : 0;
}

std::optional<int> digits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

// "21 Oct 2015 07:28:00", of each of the three forms that HTTP has; empty: it is none.
std::string day_and_time(std::string_view text) {
  constexpr std::size_t k_of_asctime = 24;
  const auto comma = text.find(", ");
  if (comma == k_npos && text.size() == k_of_asctime) {  // "Wed Oct  7 07:28:00 2015"
    const std::string day(text[8] == ' ' ? "0" : text.substr(8, 1));
    return day + std::string(text.substr(9, 2)) + std::string(text.substr(4, 4)) +
           std::string(text.substr(20)) + std::string(text.substr(10, 9));
  }
  if (comma == k_npos || !text.ends_with(" GMT")) {
    return {};
  }
  std::string said(text.substr(comma + 2, text.size() - comma - 6));
  if (said.size() == 18 && said[2] == '-' && said[6] == '-') {  // "21-Oct-15 07:28:00"
    said[2] = said[6] = ' ';
    said.insert(7, said[7] < '7' ? "20" : "19");
  }
  return said.size() == 20 ? said : "";
}

}  // namespace

std::optional<Clock::Wall> parse_http_date(std::string_view date_text) {
  const std::string text = day_and_time(agent::trimmed(date_text));
  if (text.empty()) {
    return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t size) {
    return std::string_view(text).substr(at, size);
  };
  const auto day = digits(part(0, 2));
  const int month = month_number(part(3, 3));
  const auto year = digits(part(7, 4));
  const auto hour = digits(part(12, 2));
  const auto minute = digits(part(15, 2));
  const auto second = digits(part(18, 2));
  if (!day || month == 0 || !year || !hour || !minute || !second) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  if (*year > k_last_year) {
    return std::chrono::sys_days(std::chrono::year(k_last_year) / 12 / 31);
  }
  if (!agent::is_clock_year(*year)) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

Wait retry_after_header(const Headers& headers, Clock::Wall now) {
  Wait wait;
  if (const auto value = number_in(agent::header(headers, "retry-after-ms"))) {
    wait = wait_of(*value, milliseconds(1));
  }
  const std::string_view text = agent::header(headers, "retry-after");
  if (const auto value = number_in(text)) {
    wait = longer(wait, wait_of(*value, std::chrono::seconds(1)));
  } else if (const auto date = parse_http_date(text)) {
    wait = longer(wait, wait_until(*date, now));
  }
  return wait;
}

Wait rate_limit_reset(const Headers& headers, Clock::Wall now) {
  return reset_of(headers, now);
}

Wait retry_after_body(const Json& error, Clock::Wall now) {
  Wait wait;
  if (const Json* details = agent::find(error, "details"); details && details->is_array()) {
    for (const Json& detail : *details) {
      wait = longer(wait, duration(agent::text_at(detail, "retryDelay")));
    }
  }
  const Json* metadata = agent::find(error, "metadata");
  const Json* fields = metadata != nullptr ? agent::find(*metadata, "headers") : nullptr;
  if (fields != nullptr && fields->is_object()) {
    Headers headers;
    for (const auto& [name, value] : fields->items()) {
      headers.emplace_back(name, value.is_string() ? value.get<std::string>() : agent::dump(value));
    }
    wait = longer(wait, longer(retry_after_header(headers, now), reset_of(headers, now)));
  }
  return wait;
}

Wait retry_after_text(std::string_view text) {
  constexpr std::array<std::string_view, 4> k_phrases = {
      "try again in ", "retry in ", "retry after ", "try again after "};
  const std::string words = agent::to_lower(text);
  for (const std::string_view phrase : k_phrases) {
    const auto at = words.find(phrase);
    if (at == k_npos) {
      continue;
    }
    if (const Wait wait = spoken_duration(std::string_view(words).substr(at + phrase.size()))) {
      return wait;
    }
  }
  return std::nullopt;
}

}  // namespace providers
