#include "providers/wire/usage_estimate.h"

#include <algorithm>

namespace providers {
namespace {

constexpr std::int64_t k_bytes_per_token = 4;
constexpr std::int64_t k_most_bytes_per_token = 1'000;  // the longest runs of spaces have some 100
constexpr std::int64_t k_most_tokens = 20'000'000;      // no model reads or writes that many

std::int64_t tokens_of(std::int64_t bytes) {
  return (bytes + k_bytes_per_token - 1) / k_bytes_per_token;
}

bool is_count_of(std::int64_t tokens, std::int64_t bytes) {
  return is_count(tokens) && tokens * k_most_bytes_per_token >= bytes;
}

std::int64_t bytes_of_words(const Exchange& exchange) {
  return exchange.received + exchange.unshown.refusal + exchange.unshown.blanks;
}

// How many tokens sealed thoughts are is not to be seen: only that there are some.
bool is_output(std::int64_t tokens, const Exchange& exchange) {
  return is_count_of(tokens, bytes_of_words(exchange)) &&
         (tokens > 0 || exchange.unshown.sealed == 0);
}

std::int64_t tokens_received(const Exchange& exchange) {
  return tokens_of(bytes_of_words(exchange) + exchange.unshown.sealed);
}

}  // namespace

bool is_count(std::int64_t tokens) {
  return tokens >= 0 && tokens <= k_most_tokens;
}

std::optional<agent::Usage> estimate(const agent::Usage& reported, const Exchange& exchange) {
  agent::Usage usage = reported;
  for (const auto part : {&agent::Usage::cache_read,
                          &agent::Usage::cache_write,
                          &agent::Usage::cache_write_1h,
                          &agent::Usage::reasoning}) {
    usage.*part = is_count(usage.*part) ? usage.*part : 0;
  }
  const std::int64_t sent = tokens_of(exchange.sent) + exchange.attached;
  if (!is_count_of(usage.input, exchange.sent)) {
    usage.input = sent;
  } else if (exchange.unshown.lacks_input) {
    usage.input = std::max(usage.input, sent);
  }
  const bool is_cache_inside = usage.cache_read + usage.cache_write <= usage.input &&
                               usage.cache_write_1h <= usage.cache_write;
  if (!is_cache_inside) {
    usage.cache_read = 0;
    usage.cache_write = 0;
    usage.cache_write_1h = 0;
  }
  if (!is_output(usage.output, exchange)) {
    usage.output = tokens_received(exchange) + usage.reasoning;
  } else if (exchange.unshown.lacks_output) {
    usage.output = std::max(usage.output, tokens_received(exchange));
  } else if (usage.reasoning > usage.output) {
    usage.output += usage.reasoning;  // counted beside it
  }
  const bool is_whole = !exchange.unshown.lacks_input && !exchange.unshown.lacks_output;
  return is_whole && usage == reported ? std::nullopt : std::optional(usage);
}

std::optional<agent::Usage> estimate_broken(const agent::Usage& reported,
                                            const Exchange& exchange) {
  const std::optional<agent::Usage> estimated = estimate(reported, exchange);
  agent::Usage usage = estimated.value_or(reported);
  usage.output = std::max(usage.output, tokens_received(exchange));
  return !estimated && usage == reported ? std::nullopt : std::optional(usage);
}

}  // namespace providers
