#include "providers/resilience/retry_provider.h"

#include "agent/retry.h"
#include "providers/resilience/stream_watch.h"

#include <optional>
#include <utility>

namespace providers {
namespace {

agent::Error stopped_waiting(agent::Error last) {
  return {.code = agent::Code::run_cancelled,
          .message = "stopped while waiting to ask the model again",
          .cause = agent::Cause{last.code, std::move(last.message)},
          .provider = std::move(last.provider),
          .model = std::move(last.model),
          .attempts = last.attempts};
}

}  // namespace

agent::Result<agent::Reply> RetryProvider::complete(const agent::ModelRequest& request,
                                                    const agent::Emit& emit,
                                                    std::stop_token stop) {
  StreamWatch watch(emit);
  const agent::Emit through = [&watch](agent::EventBody event) { watch.pass(std::move(event)); };
  agent::Milliseconds waited{0};
  std::optional<agent::Cause> before;  // the failure of the last attempt
  for (int attempt = 1;; ++attempt) {
    auto reply = inner_->complete(request, through, stop);
    if (reply) {
      return reply;
    }
    auto& error = reply.error();
    error.attempts = attempt;
    if (error.code == agent::Code::provider_busy) {  // our own gate: nothing was sent
      error.attempts = attempt - 1;
      error.cause = std::exchange(before, {});
    }
    const auto delay = agent::next_delay(policy_, attempt, waited, error, rng_);
    if (!delay) {
      return reply;
    }
    watch.reset(error);
    before = agent::Cause{error.code, error.message};
    emit(agent::ModelRetrying{attempt, policy_.max_attempts, *delay, error});
    if (!clock_.sleep_for(*delay, stop)) {
      return agent::fail(stopped_waiting(std::move(error)));
    }
    waited += *delay;
  }
}

}  // namespace providers
