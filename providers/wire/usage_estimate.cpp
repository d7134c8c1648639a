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

bool is_count(std::int64_t tokens) {
  return tokens >= 0 && tokens <= k_most_tokens;
}

bool is_count_of(std::int64_t tokens, std::int64_t bytes) {
  return is_count(tokens) && tokens * k_most_bytes_per_token >= bytes;
}

}  // namespace

std::optional<agent::Usage> estimate(const agent::Usage& reported, const Exchange& exchange) {
  agent::Usage usage = reported;
  if (!is_count_of(usage.input, exchange.sent)) {
    usage.input = tokens_of(exchange.sent) + exchange.attached;
  }
  const bool is_cache_inside = is_count(usage.cache_read) && is_count(usage.cache_write) &&
                               is_count(usage.cache_write_1h) &&
                               usage.cache_read + usage.cache_write <= usage.input &&
                               usage.cache_write_1h <= usage.cache_write;
  if (!is_cache_inside) {
    usage.cache_read = 0;
    usage.cache_write = 0;
    usage.cache_write_1h = 0;
  }
  if (!is_count(usage.reasoning)) {
    usage.reasoning = 0;
  }
  if (!is_count_of(usage.output, exchange.received)) {
    usage.output = tokens_of(exchange.received) + usage.reasoning;
  } else if (usage.reasoning > usage.output) {
    usage.output += usage.reasoning;  // counted beside it
  }
  return usage == reported ? std::nullopt : std::optional(usage);
}

std::optional<agent::Usage> estimate_broken(const agent::Usage& reported,
                                            const Exchange& exchange) {
  agent::Usage usage = estimate(reported, exchange).value_or(reported);
  usage.output = std::max(usage.output, tokens_of(exchange.received));
  return usage == reported ? std::nullopt : std::optional(usage);
}

}  // namespace providers
