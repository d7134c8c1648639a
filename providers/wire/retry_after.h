// How long a provider asks to wait after an error, in the ways that are not HTTP's own.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/json.h"

#include <chrono>
#include <optional>
#include <string_view>

namespace providers {

// When the limits that stand at zero are filled again: anthropic-ratelimit-*-reset and
// x-ratelimit-reset*, the longest of them.
std::optional<std::chrono::milliseconds> rate_limit_reset(const agent::Headers& headers,
                                                          agent::Clock::Wall now);

// What an error object holds: RetryInfo.retryDelay, metadata.headers.
std::optional<std::chrono::milliseconds> retry_after_body(const agent::Json& error,
                                                          agent::Clock::Wall now);

// "Please try again in 1.24s", "retry in 6m0s", "retry after 20 seconds".
std::optional<std::chrono::milliseconds> retry_after_text(std::string_view text);

}  // namespace providers
