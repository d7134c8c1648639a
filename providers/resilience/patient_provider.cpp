#include "providers/resilience/patient_provider.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace providers {
namespace {

// Keeps what is said of models that take another's place, until one of them is really asked: each
// round would say it again.
class Quiet {
 public:
  explicit Quiet(const agent::Emit& emit) : emit_(emit) {}

  void pass(agent::EventBody event) {
    if (std::holds_alternative<agent::ModelFallback>(event)) {
      kept_.push_back(std::move(event));
      return;
    }
    let_go();
    emit_(std::move(event));
  }
  void let_go() {
    for (agent::EventBody& event : std::exchange(kept_, {})) {
      emit_(std::move(event));
    }
  }

 private:
  const agent::Emit& emit_;
  std::vector<agent::EventBody> kept_;
};

bool was_not_sent(const agent::Error& error) {
  return agent::is_for_want_of_a_model(error) && error.attempts == 0;
}

// Whoever keeps a request back for its pace or a pause says for how long, or has waited in vain.
bool is_worth_waiting(const agent::Error& error) {
  const bool may_end = error.retry_after || error.code == agent::Code::provider_circuit_open;
  return was_not_sent(error) && may_end &&
         error.retry_after.value_or(agent::Milliseconds{0}) <= PatientProvider::k_patience;
}

}  // namespace

agent::Result<agent::Reply> PatientProvider::complete(const agent::ModelRequest& request,
                                                      const agent::Emit& emit,
                                                      std::stop_token stop) {
  auto reply = inner_->complete(request, emit, stop);
  while (!reply && is_worth_waiting(reply.error())) {
    agent::Error error = std::move(reply).error();
    const auto delay = std::min(error.retry_after.value_or(k_probe_wait), k_longest_wait);
    emit(agent::ModelRetrying{.delay = delay, .error = error});
    if (!clock_.sleep_for(delay, stop)) {
      return agent::fail({.code = agent::Code::run_cancelled,
                          .message = "stopped while waiting for the provider to be back",
                          .cause = agent::Cause{error.code, std::move(error.message)},
                          .provider = std::move(error.provider),
                          .model = std::move(error.model)});
    }
    Quiet quiet(emit);
    reply = inner_->complete(
        request, [&quiet](agent::EventBody event) { quiet.pass(std::move(event)); }, stop);
    if (reply || !was_not_sent(reply.error())) {
      quiet.let_go();
    }
  }
  return reply;
}

}  // namespace providers
