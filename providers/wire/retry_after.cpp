#include "providers/wire/retry_after.h"

#include "agent/duration.h"
#include "agent/retry_after_header.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>

namespace providers {
namespace {

using agent::Clock;
using agent::Headers;
using agent::Json;
using std::chrono::milliseconds;
using Wait = std::optional<milliseconds>;

constexpr auto k_npos = std::string_view::npos;

// A reset as a bare number is seconds from now, or an epoch in seconds or milliseconds.
Wait reset_number(double value, Clock::Wall now) {
  constexpr double k_epoch_seconds = 1e9;
  constexpr double k_epoch_milliseconds = 1e12;
  constexpr double k_latest = 7e12;  // in the year 2191: the clock's nanoseconds end in 2262
  if (value >= k_epoch_seconds) {
    const double time = value >= k_epoch_milliseconds ? value : value * 1000;
    return time < k_latest
               ? agent::wait_until(Clock::Wall(milliseconds(static_cast<std::int64_t>(time))), now)
               : Wait();
  }
  return agent::wait_of(value, std::chrono::seconds(1));
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
  return agent::wait_of(total, milliseconds(1));
}

Wait reset_wait(std::string_view text, Clock::Wall now) {
  text = agent::trimmed(text);
  if (const auto value = agent::number_in(text)) {
    return reset_number(*value, now);
  }
  if (const auto time = agent::parse_time(text)) {
    return agent::wait_until(*time, now);
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
    const bool is_used_up = remaining.empty() || agent::number_in(remaining).value_or(1) <= 0;
    if (is_used_up && wait < agent::k_longest_wait) {  // a later one is a slip of the units
      longest = std::max(longest, wait);
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
  const auto value = agent::number_in(amount);
  if (!value || digits == k_npos) {
    return std::nullopt;
  }
  if (text[digits] == ' ') {
    const std::string_view word = text.substr(digits + 1);
    if (word.starts_with("ms") || word.starts_with("milli")) {
      return agent::wait_of(*value, milliseconds(1));
    }
    if (word.starts_with("s")) {
      return agent::wait_of(*value, std::chrono::seconds(1));
    }
    if (word.starts_with("m")) {
      return agent::wait_of(*value, std::chrono::minutes(1));
    }
    if (word.starts_with("h")) {
      return agent::wait_of(*value, std::chrono::hours(1));
    }
    return word.starts_with("d") ? agent::wait_of(*value, std::chrono::days(1)) : std::nullopt;
  }
  std::string_view compact = text.substr(0, text.find_first_not_of("0123456789.dhms"));
  while (compact.ends_with('.')) {
    compact.remove_suffix(1);
  }
  return duration(compact);
}

}  // namespace

Wait rate_limit_reset(const Headers& headers, Clock::Wall now) {
  return reset_of(headers, now);
}

Wait retry_after_body(const Json& error, Clock::Wall now) {
  Wait wait;
  if (const Json* details = agent::find(error, "details"); details && details->is_array()) {
    for (const Json& detail : *details) {
      wait = std::max(wait, duration(agent::text_at(detail, "retryDelay")));
    }
  }
  const Json* metadata = agent::find(error, "metadata");
  const Json* fields = metadata != nullptr ? agent::find(*metadata, "headers") : nullptr;
  if (fields != nullptr && fields->is_object()) {
    Headers headers;
    for (const auto& [name, value] : fields->items()) {
      headers.emplace_back(name, value.is_string() ? value.get<std::string>() : agent::dump(value));
    }
    wait =
        std::max(wait, std::max(agent::retry_after_header(headers, now), reset_of(headers, now)));
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
