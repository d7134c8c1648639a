// Durations, times and counts as people write them.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

// "500ms", "10s", "2m", "1h30m", "1.5s"; a unit is required. nullopt where it is none, or where it
// is over 100 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
// "500ms", "10s", "1m30s": what parse_duration reads back.
std::string format_duration(std::chrono::milliseconds time);

// "200", "500k", "1.5M" (decimal factors). nullopt where it is no whole number in the end.
std::optional<std::int64_t> parse_count(std::string_view text);

// RFC 3339 in UTC with milliseconds: "2026-11-21T09:30:00.123Z".
std::string format_time(std::chrono::system_clock::time_point time);
std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text);

// `wait` after `time`, as far as the clock goes.
std::chrono::system_clock::time_point later(std::chrono::system_clock::time_point time,
                                            std::chrono::milliseconds wait);

// "2026-11-21"
std::optional<std::chrono::sys_days> parse_day(std::string_view text);
std::string format_day(std::chrono::sys_days day);
// "16:30", "16:30:05", with or without a Z at the end: what parse_time_of_day takes, and the
// shortest of it.
std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text);
std::string format_time_of_day(std::chrono::seconds time);

// Whether the system's clock, which counts nanoseconds in 64 bits, surely holds all of that year.
constexpr bool is_clock_year(int year) {
  return year >= 1700 && year <= 2200;
}

}  // namespace agent
