// Asks the next model of a chain where one has failed for good. The first one that is not cooling
// down is asked first; those that failed lately come last, in case all others fail, too.
#pragma once
#include "agent/clock.h"
#include "agent/fallback.h"
#include "agent/provider.h"
#include "agent/spec.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace providers {

// The last failure of one model, shared by all that ask it. Thread-safe.
class FailureMemory {
 public:
  struct Failure {
    agent::Clock::Steady at;
    agent::Error error;
  };

  void failed(agent::Clock::Steady now, agent::Error error);
  void succeeded();
  std::optional<Failure> last() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Failure> last_;
};

class FallbackProvider final : public agent::Provider {
 public:
  struct Member {
    std::string name;  // provider/model
    std::unique_ptr<agent::Provider> provider;
    FailureMemory& memory;  // borrowed; everybody's
  };
  struct Policy {
    agent::Milliseconds cooldown;
    std::vector<agent::FallbackReason> on;
  };

  // `clock` is borrowed. The chain has at least two members.
  FallbackProvider(std::vector<Member> chain, Policy policy, const agent::Clock& clock);

  // Asks each model at most once. Emits model.fallback for each that takes another's place, and
  // model.reset before it, where something was streamed. The error is the last one's, with the
  // first one's as its cause and all attempts counted; one that is none of the policy's reasons
  // ends it at once.
  agent::Result<agent::Reply> complete(const agent::ModelRequest& request,
                                       const agent::Emit& emit,
                                       std::stop_token stop) override;

 private:
  using Failure = FailureMemory::Failure;

  struct Link {
    Member member;
    FailureMemory own;  // what failed for this run's request alone
  };

  bool counts(const agent::Error& error) const;
  // The failure because of which the model is asked last; nullopt: it is not cooling down.
  std::optional<Failure> cooling(const Link& link, agent::Clock::Steady now) const;
  std::vector<std::size_t> order(agent::Clock::Steady now) const;
  void announce_skipped(const Link& next, agent::Clock::Steady now, const agent::Emit& emit) const;
  void remember(Link& link, const agent::Error& error) const;

  std::vector<std::unique_ptr<Link>> chain_;
  Policy policy_;
  const agent::Clock& clock_;
};

}  // namespace providers
