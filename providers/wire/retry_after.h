// How long a server asks to wait after an error, in all the ways that servers say so.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/json.h"

#include <chrono>
#include <optional>
#include <string_view>

namespace providers {

// retry-after-ms and retry-after (seconds or an HTTP date), the longer one.
std::optional<std::chrono::milliseconds> retry_after_header(const agent::Headers& headers,
                                                            agent::Clock::Wall now);

// When the limits that stand at zero are filled again: anthropic-ratelimit-*-reset and
// x-ratelimit-reset*, the longest of them.
std::optional<std::chrono::milliseconds> rate_limit_reset(const agent::Headers& headers,
                                                          agent::Clock::Wall now);

// What an error object holds: RetryInfo.retryDelay, metadata.headers.
std::optional<std::chrono::milliseconds> retry_after_body(const agent::Json& error,
                                                          agent::Clock::Wall now);

// "Please try again in 1.24s", "retry in 6m0s", "retry after 20 seconds".
std::optional<std::chrono::milliseconds> retry_after_text(std::string_view text);

// "Wed, 21 Oct 2015 07:28:00 GMT", and the two older forms that servers may send. What is after the
// year 2200 is at its end: the clock cannot hold all of it, and it is far away all the same.
std::optional<agent::Clock::Wall> parse_http_date(std::string_view text);

}  // namespace providers
