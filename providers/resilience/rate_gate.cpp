#include "providers/resilience/rate_gate.h"

#include "agent/duration.h"

#include <fmt/format.h>

#include <algorithm>

namespace providers {
namespace {

using agent::Code;
using agent::Milliseconds;

constexpr std::chrono::seconds k_window{60};
constexpr Milliseconds k_short_wait{1'000};         // not worth a word
constexpr Milliseconds k_longest_hold{86'400'000};  // a server that says more is wrong

std::string reason(RateGate::Obstacle obstacle, const GateLimits& limits) {
  switch (obstacle) {
    case RateGate::Obstacle::none:
      return {};
    case RateGate::Obstacle::others:
      return "other requests are waiting already";
    case RateGate::Obstacle::requests_per_minute:
      return fmt::format("`requests_per_minute` is {}", limits.requests_per_minute.value_or(0));
    case RateGate::Obstacle::max_in_flight:
      return fmt::format("`max_in_flight` is {}", limits.max_in_flight.value_or(0));
    case RateGate::Obstacle::held:
      return "the provider asked for a pause";
  }
  std::unreachable();
}

std::string in_seconds(Milliseconds time) {
  return agent::format_duration(std::chrono::ceil<std::chrono::seconds>(time));
}

std::unexpected<agent::Error> busy(RateGate::Obstacle obstacle,
                                   std::optional<Milliseconds> time,
                                   const GateLimits& limits) {
  const std::string wait = time ? "would have to wait " + in_seconds(*time)
                                : "waited " + in_seconds(limits.patience) + " in vain";
  return agent::fail({.code = Code::provider_busy,
                      .message = fmt::format("the request {}: {}", wait, reason(obstacle, limits)),
                      .help = obstacle == RateGate::Obstacle::held ? "run it again then" : "",
                      .retry_after = time});
}

std::unexpected<agent::Error> cancelled() {
  return agent::fail(Code::run_cancelled, "stopped while waiting to ask the model");
}

}  // namespace

agent::Result<void> RateGate::enter(const GateLimits& limits,
                                    agent::Clock& clock,
                                    const OnWait& on_wait,
                                    std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  queue_.push_back(ticket);
  auto turn = wait_for_turn(lock, ticket, limits, clock, on_wait, stop);
  std::erase(queue_, ticket);
  if (turn) {
    ++in_flight_;
    starts_.push_back(clock.now());
  }
  changed_.notify_all();
  return turn;
}

// What has an end that the clock knows is slept through; for all else somebody has to leave.
agent::Result<void> RateGate::wait_for_turn(std::unique_lock<std::mutex>& lock,
                                            std::uint64_t ticket,
                                            const GateLimits& limits,
                                            agent::Clock& clock,
                                            const OnWait& on_wait,
                                            std::stop_token stop) {
  const Steady begin = clock.now();
  Milliseconds left = limits.patience;
  bool is_told = false;
  const auto tell = [&](Obstacle obstacle, std::optional<Milliseconds> time) {
    if (!std::exchange(is_told, true)) {
      lock.unlock();
      on_wait(obstacle, time);
      lock.lock();
    }
  };
  while (!stop.stop_requested()) {
    const Steady now = clock.now();
    const Block block = block_of(ticket, limits, now);
    if (block.obstacle == Obstacle::none) {
      return {};
    }
    left = std::min(left, limits.patience - std::chrono::floor<Milliseconds>(now - begin));
    if (block.until) {
      const auto time = std::chrono::ceil<Milliseconds>(*block.until - now);
      if (time > left) {
        return busy(block.obstacle, time, limits);
      }
      if (time > k_short_wait) {
        tell(block.obstacle, time);
      }
      lock.unlock();
      clock.sleep_for(time, stop);
      lock.lock();
      left -= time;
    } else if (left <= Milliseconds{0}) {
      return busy(block.obstacle, std::nullopt, limits);
    } else {
      const auto time = is_told ? left : std::min(left, k_short_wait);
      if (!changed_.wait_for(
              lock, stop, time, [&] { return !is_blocked_by_requests(ticket, limits); }) &&
          !stop.stop_requested()) {
        left -= time;
        tell(block.obstacle, std::nullopt);
      }
    }
  }
  return cancelled();
}

bool RateGate::is_blocked_by_requests(std::uint64_t ticket, const GateLimits& limits) const {
  return queue_.front() != ticket || (limits.max_in_flight && in_flight_ >= *limits.max_in_flight);
}

RateGate::Block RateGate::block_of(std::uint64_t ticket, const GateLimits& limits, Steady now) {
  while (!starts_.empty() && starts_.front() <= now - k_window) {
    starts_.pop_front();
  }
  if (queue_.front() != ticket) {
    return {.obstacle = Obstacle::others};
  }
  Block block;
  if (now < held_until_) {
    block = {.obstacle = Obstacle::held, .until = held_until_};
  }
  const auto rate = limits.requests_per_minute;
  if (rate && std::cmp_greater_equal(starts_.size(), *rate)) {
    const Steady next = starts_[starts_.size() - static_cast<std::size_t>(*rate)] + k_window;
    if (!block.until || next > *block.until) {
      block = {.obstacle = Obstacle::requests_per_minute, .until = next};
    }
  }
  if (!block.until && is_blocked_by_requests(ticket, limits)) {
    block.obstacle = Obstacle::max_in_flight;
  }
  return block;
}

void RateGate::leave() {
  const std::lock_guard lock(mutex_);
  --in_flight_;
  changed_.notify_all();
}

void RateGate::hold_until(Steady time) {
  const std::lock_guard lock(mutex_);
  held_until_ = std::max(held_until_, time);
}

agent::Result<agent::Reply> GatedProvider::complete(const agent::ModelRequest& request,
                                                    const agent::Emit& emit,
                                                    std::stop_token stop) {
  const auto on_wait = [&](RateGate::Obstacle obstacle, std::optional<Milliseconds> time) {
    if (!std::exchange(has_warned_, true)) {
      emit(agent::Warning{.message = fmt::format("requests to {}/{} have to wait{}: {}",
                                                 provider_,
                                                 model_,
                                                 time ? ", this one " + in_seconds(*time) : "",
                                                 reason(obstacle, limits_)),
                          .help = {}});
    }
  };
  if (auto turn = gate_.enter(limits_, clock_, on_wait, stop); !turn) {
    agent::Error error = std::move(turn).error();
    error.provider = provider_;
    error.model = model_;
    return agent::fail(std::move(error));
  }
  auto reply = inner_->complete(request, emit, stop);
  if (!reply && reply.error().retry_after &&
      agent::is_automatic(agent::row(reply.error().code).retry)) {
    gate_.hold_until(clock_.now() + std::min(*reply.error().retry_after, k_longest_hold));
  }
  gate_.leave();
  return reply;
}

}  // namespace providers
