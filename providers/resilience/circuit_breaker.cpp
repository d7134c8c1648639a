#include "providers/resilience/circuit_breaker.h"

#include "agent/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace providers {
namespace {

using agent::Code;
using agent::Milliseconds;

// A rate limit is no sign of a server that is down, and busy is our own word.
constexpr auto k_failures_of_a_server = std::to_array<Code>({
    Code::provider_network,
    Code::provider_timeout,
    Code::provider_unavailable,
    Code::provider_model_loading,
    Code::provider_stream_broken,
    Code::provider_bad_response,
    Code::provider_other,
});

bool is_servers_fault(const agent::Error& error) {
  const bool is_client_error = error.http_status >= 400 && error.http_status < 500;
  return !is_client_error &&
         std::ranges::find(k_failures_of_a_server, error.code) != k_failures_of_a_server.end();
}

}  // namespace

Circuit::Admission Circuit::admit(Steady now) {
  const std::lock_guard lock(mutex_);
  if (!open_until_) {
    return {.leave = Leave::closed};
  }
  if (now < *open_until_) {
    return {.leave = Leave::refused,
            .retry_after = std::chrono::ceil<Milliseconds>(*open_until_ - now),
            .last_failure = last_failure_};
  }
  if (is_probing_) {
    return {.leave = Leave::refused, .last_failure = last_failure_};
  }
  is_probing_ = true;
  return {.leave = Leave::probe};
}

void Circuit::succeeded(Leave leave) {
  const std::lock_guard lock(mutex_);
  is_probing_ = is_probing_ && leave != Leave::probe;
  failures_ = 0;
  pause_ = k_first_pause;
  open_until_.reset();
}

void Circuit::failed(Leave leave, Steady now, agent::Cause failure) {
  const std::lock_guard lock(mutex_);
  if (leave == Leave::probe) {
    is_probing_ = false;
    pause_ = std::min(pause_ * 2, k_longest_pause);
  } else if (open_until_ || ++failures_ < k_failures) {
    return;
  }
  open_until_ = now + pause_;
  last_failure_ = std::move(failure);
}

void Circuit::ended_otherwise(Leave leave) {
  const std::lock_guard lock(mutex_);
  is_probing_ = is_probing_ && leave != Leave::probe;
}

agent::Result<agent::Reply> CircuitBreaker::complete(const agent::ModelRequest& request,
                                                     const agent::Emit& emit,
                                                     std::stop_token stop) {
  auto admission = circuit_.admit(clock_.now());
  if (admission.leave == Circuit::Leave::refused) {
    return agent::fail(refusal(std::move(admission)));
  }
  auto reply = inner_->complete(request, emit, stop);
  if (reply) {
    circuit_.succeeded(admission.leave);
  } else if (is_servers_fault(reply.error())) {
    circuit_.failed(admission.leave, clock_.now(), {reply.error().code, reply.error().message});
  } else {
    circuit_.ended_otherwise(admission.leave);
  }
  return reply;
}

agent::Error CircuitBreaker::refusal(Circuit::Admission admission) const {
  const std::string when =
      admission.retry_after
          ? "for " + agent::format_duration(
                         std::chrono::ceil<std::chrono::seconds>(*admission.retry_after))
          : std::string("until one request has found out whether it is back");
  return {.code = Code::provider_circuit_open,
          .message = fmt::format("{}/{} keeps failing and is skipped {}", provider_, model_, when),
          .cause = std::move(admission.last_failure),
          .retry_after = admission.retry_after,
          .provider = provider_,
          .model = model_};
}

}  // namespace providers
