#include "agent/retry_after_header.h"

#include "agent/duration.h"
#include "agent/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace agent {
namespace {

using Wait = std::optional<Milliseconds>;

constexpr int k_last_year = 2200;  // of is_clock_year
static_assert(is_clock_year(k_last_year) && !is_clock_year(k_last_year + 1));
constexpr auto k_npos = std::string_view::npos;

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

std::optional<double> number_in(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

Wait wait_of(double count, Milliseconds unit) {
  const double time = std::ceil(count * static_cast<double>(unit.count()));
  if (!(time > 0)) {
    return std::nullopt;
  }
  return time < static_cast<double>(k_longest_wait.count())
             ? Milliseconds(static_cast<Milliseconds::rep>(time))
             : k_longest_wait;
}

Wait wait_until(Clock::Wall then, Clock::Wall now) {
  return then <= now                   ? Wait()
         : then - now < k_longest_wait ? std::chrono::ceil<Milliseconds>(then - now)
                                       : k_longest_wait;
}

std::optional<Clock::Wall> parse_http_date(std::string_view date_text) {
  const std::string text = day_and_time(trimmed(date_text));
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
  if (!is_clock_year(*year)) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

Wait retry_after_header(const Headers& headers, Clock::Wall now) {
  Wait wait;
  if (const auto value = number_in(header(headers, "retry-after-ms"))) {
    wait = wait_of(*value, Milliseconds(1));
  }
  const std::string_view text = header(headers, "retry-after");
  if (const auto value = number_in(text)) {
    wait = std::max(wait, wait_of(*value, std::chrono::seconds(1)));
  } else if (const auto date = parse_http_date(text)) {
    wait = std::max(wait, wait_until(*date, now));
  }
  return wait;
}

Wait asked_pause(const Headers& headers, Clock::Wall now) {
  const std::string_view text = header(headers, "retry-after");
  const auto seconds = number_in(text);
  if (seconds ? *seconds < 0 : !parse_http_date(text)) {
    return std::nullopt;
  }
  return retry_after_header(headers, now).value_or(Milliseconds{0});
}

}  // namespace agent
