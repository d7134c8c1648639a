// How long a server asks to wait by the `Retry-After` of HTTP, and the numbers and dates in which
// servers say so.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/spec.h"

#include <chrono>
#include <optional>
#include <string_view>

namespace agent {

constexpr Milliseconds k_longest_wait = std::chrono::hours(24 * 366);

// retry-after-ms and retry-after (seconds or an HTTP date), the longer one.
std::optional<Milliseconds> retry_after_header(const Headers& headers, Clock::Wall now);
// The same where `Retry-After` says it; none at all where the moment that it names has passed.
// nullopt: it says nothing that can be read.
std::optional<Milliseconds> asked_pause(const Headers& headers, Clock::Wall now);

// "Wed, 21 Oct 2015 07:28:00 GMT", and the two older forms that servers may send. What is after the
// year 2200 is at its end: the clock cannot hold all of it, and it is far away all the same.
std::optional<Clock::Wall> parse_http_date(std::string_view text);

// A finite number that is all of the text, but for blanks around it.
std::optional<double> number_in(std::string_view text);

// Rounded up, so that the wait is never short of what was asked for. One beyond all bounds is
// k_longest_wait; none at all: nullopt.
std::optional<Milliseconds> wait_of(double count, Milliseconds unit);
std::optional<Milliseconds> wait_until(Clock::Wall then, Clock::Wall now);

}  // namespace agent
