#include "providers/retry_provider.h"

#include "agent/retry.h"

#include <utility>
#include <variant>

namespace providers {
namespace {

// Passes events on, and knows whether the consumers hold pieces of an unfinished reply.
class StreamWatch {
 public:
  explicit StreamWatch(const agent::Emit& emit) : emit_(emit) {}

  void pass(agent::EventBody event) {
    if (std::holds_alternative<agent::ModelDelta>(event)) {
      has_streamed_ = true;
    } else if (std::holds_alternative<agent::ModelReset>(event)) {
      has_streamed_ = false;
    }
    emit_(std::move(event));
  }
  void reset(const agent::Error& error) {
    if (has_streamed_) {
      pass(agent::ModelReset{error.message});
    }
  }

 private:
  const agent::Emit& emit_;
  bool has_streamed_ = false;
};

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
  for (int attempt = 1;; ++attempt) {
    auto reply = inner_->complete(request, through, stop);
    if (reply) {
      return reply;
    }
    auto& error = reply.error();
    error.attempts = attempt;
    const auto delay = agent::next_delay(policy_, attempt, waited, error, rng_);
    if (!delay) {
      return reply;
    }
    watch.reset(error);
    emit(agent::ModelRetrying{attempt, policy_.max_attempts, *delay, error});
    if (!clock_.sleep_for(*delay, stop)) {
      return agent::fail(stopped_waiting(std::move(error)));
    }
    waited += *delay;
  }
}

}  // namespace providers
