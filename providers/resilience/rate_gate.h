// How fast and how many at once: the requests of one process to one model wait here for their turn.
// A wait that would be too long is provider.busy; nothing is sent twice.
#pragma once
#include "agent/clock.h"
#include "agent/provider.h"
#include "agent/result.h"
#include "agent/spec.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace providers {

struct GateLimits {
  // In any 60 seconds; so many may go at once at the start. Absent: any number.
  std::optional<std::int64_t> requests_per_minute;
  std::optional<std::int64_t> max_in_flight;
  agent::Milliseconds patience{60'000};  // the longest wait
};

// The gate of one model, shared by all that ask it. Thread-safe. Who comes first goes first.
class RateGate {
 public:
  using Steady = agent::Clock::Steady;

  enum class Obstacle : std::uint8_t { none, others, requests_per_minute, max_in_flight, held };
  // Hears once, while nothing is locked, of a wait of more than a second; `time` is absent where
  // nobody knows how long it will be.
  using OnWait = std::function<void(Obstacle obstacle, std::optional<agent::Milliseconds> time)>;

  // Returns when a request may go; leave() has to follow. Errors: provider.busy (it would take
  // longer than the limits' patience; retry_after says how long, where that is known),
  // run.cancelled.
  agent::Result<void> enter(const GateLimits& limits,
                            agent::Clock& clock,
                            const OnWait& on_wait,
                            std::stop_token stop);
  void leave();
  // Nobody goes before that time: the server asked for it.
  void hold_until(Steady time);

 private:
  struct Block {
    Obstacle obstacle = Obstacle::none;
    std::optional<Steady> until = {};
  };
  agent::Result<void> wait_for_turn(std::unique_lock<std::mutex>& lock,
                                    std::uint64_t ticket,
                                    const GateLimits& limits,
                                    agent::Clock& clock,
                                    const OnWait& on_wait,
                                    std::stop_token stop);
  bool is_blocked_by_requests(std::uint64_t ticket, const GateLimits& limits) const;
  Block block_of(std::uint64_t ticket, const GateLimits& limits, Steady now);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t next_ticket_ = 0;
  std::deque<std::uint64_t> queue_;  // of those in enter(), the first one first
  std::deque<Steady> starts_;        // of the last minute
  std::int64_t in_flight_ = 0;
  Steady held_until_ = Steady::min();
};

class GatedProvider final : public agent::Provider {
 public:
  // `gate` and `clock` are borrowed; `provider` and `model` are for messages.
  GatedProvider(std::unique_ptr<agent::Provider> inner,
                RateGate& gate,
                GateLimits limits,
                agent::Clock& clock,
                std::string provider,
                std::string model)
      : inner_(std::move(inner)),
        gate_(gate),
        limits_(limits),
        clock_(clock),
        provider_(std::move(provider)),
        model_(std::move(model)) {}

  // Emits a warning before the first wait of more than a second. A failure that says when to come
  // back holds everybody until then.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  std::unique_ptr<agent::Provider> inner_;
  RateGate& gate_;
  GateLimits limits_;
  agent::Clock& clock_;
  std::string provider_;
  std::string model_;
  bool has_warned_ = false;
};

}  // namespace providers
