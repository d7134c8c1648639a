// When a failed model call is tried again: a pure function of the policy and the error's row.
// Who waits, and who tells the user, is the retry provider.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"

#include <optional>
#include <random>

namespace agent {

// How long to wait after attempt number `attempt` (from 1) of one model call failed with `error`,
// where `waited` is the sum of the waits so far; nullopt: the error is final.
//
// Only a code whose row retries automatically is tried again (where the row or the error says
// "once", only after the first attempt), unless the server says so itself: its word wins both ways.
// Nothing lifts max_attempts and max_elapsed. The wait is full jitter below the doubled initial
// delay, capped at max_delay (four times that where a model is being loaded). `retry_after` is a
// floor under the jitter; one that is longer than the cap or than what max_elapsed leaves is final.
std::optional<Milliseconds> next_delay(const RetryPolicy& policy,
                                       int attempt,
                                       Milliseconds waited,
                                       const Error& error,
                                       std::mt19937_64& rng);

// How many attempts there are at most where one failed with `error` and another follows: 2 of what
// is tried again once only.
int attempts_at_most(int max_attempts, const Error& error);

}  // namespace agent
