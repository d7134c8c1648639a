#include "providers/resilience/fallback_provider.h"

#include "providers/resilience/stream_watch.h"

#include <algorithm>
#include <utility>

namespace providers {

using agent::Error;
using agent::Milliseconds;

void FailureMemory::failed(agent::Clock::Steady now, Error error) {
  const std::lock_guard lock(mutex_);
  last_ = Failure{.at = now, .error = std::move(error)};
}

void FailureMemory::succeeded() {
  const std::lock_guard lock(mutex_);
  last_.reset();
}

std::optional<FailureMemory::Failure> FailureMemory::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

FallbackProvider::FallbackProvider(std::vector<Member> chain,
                                   Policy policy,
                                   const agent::Clock& clock)
    : policy_(std::move(policy)), clock_(clock) {
  for (Member& member : chain) {
    chain_.push_back(std::make_unique<Link>(std::move(member)));
  }
}

agent::Result<agent::Reply> FallbackProvider::complete(const agent::ModelRequest& request,
                                                       const agent::Emit& emit,
                                                       std::stop_token stop) {
  StreamWatch watch(emit);
  const agent::Emit through = [&watch](agent::EventBody event) { watch.pass(std::move(event)); };
  const auto now = clock_.now();
  const auto asked = order(now);
  if (asked.front() != 0) {
    announce_skipped(*chain_[asked.front()], now, emit);
  }
  std::optional<agent::Cause> first;
  int attempts = 0;
  for (std::size_t at = 0;; ++at) {
    Link& link = *chain_[asked[at]];
    auto reply = link.member.provider->complete(request, through, stop);
    if (reply) {
      link.member.memory.succeeded();
      link.own.succeeded();
      return reply;
    }
    Error& error = reply.error();
    attempts += error.attempts;
    const bool is_matter_of_another = counts(error);
    if (is_matter_of_another) {
      remember(link, error);
    }
    if (!is_matter_of_another || at + 1 == asked.size()) {
      error.attempts = attempts;
      if (first) {
        error.cause = std::move(first);
      }
      return reply;
    }
    if (!first) {
      first = agent::Cause{error.code, link.member.name + ": " + error.message};
    }
    watch.reset(error);
    emit(agent::ModelFallback{.from = link.member.name,
                              .to = chain_[asked[at + 1]]->member.name,
                              .error = std::move(error),
                              .cooldown = policy_.cooldown});
  }
}

bool FallbackProvider::counts(const Error& error) const {
  const auto reason = agent::fallback_reason(error.code);
  return reason && std::ranges::find(policy_.on, *reason) != policy_.on.end();
}

std::optional<FallbackProvider::Failure> FallbackProvider::cooling(const Link& link,
                                                                   agent::Clock::Steady now) const {
  for (auto last : {link.own.last(), link.member.memory.last()}) {
    if (last && counts(last->error) && now - last->at < policy_.cooldown) {
      return last;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> FallbackProvider::order(agent::Clock::Steady now) const {
  std::vector<std::size_t> ready;
  std::vector<std::size_t> later;
  for (std::size_t place = 0; place < chain_.size(); ++place) {
    (cooling(*chain_[place], now) ? later : ready).push_back(place);
  }
  ready.insert(ready.end(), later.begin(), later.end());
  return ready;
}

void FallbackProvider::announce_skipped(const Link& next,
                                        agent::Clock::Steady now,
                                        const agent::Emit& emit) const {
  const Link& first = *chain_.front();
  if (auto failure = cooling(first, now)) {
    const auto left = policy_.cooldown - (now - failure->at);
    emit(agent::ModelFallback{.from = first.member.name,
                              .to = next.member.name,
                              .skipped = true,
                              .error = std::move(failure->error),
                              .cooldown = std::chrono::ceil<Milliseconds>(left)});
  }
}

void FallbackProvider::remember(Link& link, const Error& error) const {
  const auto reason = agent::fallback_reason(error.code);
  FailureMemory& memory =
      reason && agent::row(*reason).is_about_request ? link.own : link.member.memory;
  memory.failed(clock_.now(), error);
}

}  // namespace providers
