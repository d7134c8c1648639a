#include "agent/retry.h"

#include <algorithm>

namespace agent {
namespace {

constexpr int k_loading_factor = 4;  // a model takes longer to load than a server to recover

bool is_tried_once(const Error& error) {
  return error.retry_once || row(error.code).retry == Retry::automatic_once;
}

bool may_retry(int attempt, const Error& error) {
  if (row(error.code).domain == Domain::cancel) {
    return false;
  }
  if (error.server_says_retry) {
    return *error.server_says_retry;
  }
  return is_automatic(row(error.code).retry) && (attempt < 2 || !is_tried_once(error));
}

Milliseconds times(Milliseconds time, int factor) {
  return time > Milliseconds::max() / factor ? Milliseconds::max() : time * factor;
}

Milliseconds doubled(Milliseconds initial, int attempt, Milliseconds cap) {
  auto delay = std::min(initial, cap);
  for (int n = 1; n < attempt && delay < cap && delay > Milliseconds{0}; ++n) {
    delay = std::min(times(delay, 2), cap);
  }
  return delay;
}

Milliseconds jitter(Milliseconds most, std::mt19937_64& rng) {
  std::uniform_int_distribution<Milliseconds::rep> spread(0,
                                                          std::max(most, Milliseconds{0}).count());
  return Milliseconds{spread(rng)};
}

}  // namespace

std::optional<Milliseconds> next_delay(const RetryPolicy& policy,
                                       int attempt,
                                       Milliseconds waited,
                                       const Error& error,
                                       std::mt19937_64& rng) {
  if (attempt >= policy.max_attempts || !may_retry(attempt, error)) {
    return std::nullopt;
  }
  const bool is_loading = error.code == Code::provider_model_loading;
  const auto cap = is_loading ? times(policy.max_delay, k_loading_factor) : policy.max_delay;
  const auto left = policy.max_elapsed - waited;
  const auto floor = std::max(error.retry_after.value_or(Milliseconds{0}), Milliseconds{0});
  if (floor > cap || floor > left) {
    return std::nullopt;
  }
  const auto spread = jitter(doubled(policy.initial_delay, attempt, cap), rng);
  if (spread <= left - floor) {
    return floor + spread;
  }
  // What the server asked for fits; only the jitter on top does not.
  return floor > Milliseconds{0} ? std::optional(left) : std::nullopt;
}

int attempts_at_most(int max_attempts, const Error& error) {
  return !error.server_says_retry && is_tried_once(error) ? std::min(max_attempts, 2)
                                                          : max_attempts;
}

}  // namespace agent
