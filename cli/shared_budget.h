// What a run and its members spend together, and whether that is too much.
#pragma once
#include "agent/event.h"
#include "agent/money.h"
#include "agent/outcome.h"
#include "agent/spec.h"
#include "agent/state.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cli {

struct Spending {
  std::int64_t tokens = 0;
  std::optional<agent::Money> cost = agent::Money{};  // nullopt: unknown
};

// What a member has spent before, of which the run that it is of has not heard: `heard` is what its
// log says last of how the member ended.
Spending unheard(const agent::State& member, const std::optional<agent::MemberFinished>& heard);

// Thread-safe. As a sink it counts what the events cost that it hears.
class SharedBudget final : public agent::EventSink {
 public:
  // `whose`: "the flow", for messages.
  SharedBudget(const agent::Limits& limits, std::string whose)
      : limits_(limits), whose_(std::move(whose)) {}

  // Before it is asked: how the limit is told to those below.
  void tell_whose(std::function<agent::Ending(agent::Ending)> tell) {
    tell_whose_ = std::move(tell);
  }
  // What earlier processes have spent.
  void begin_with(std::int64_t tokens, std::optional<agent::Money> cost);
  // What a member has spent before, and nobody has heard of.
  void add(const Spending& spending);
  void on(const agent::Event& event) override;
  // How a run ends that would ask for more; nullopt: it may.
  std::optional<agent::Ending> at_limit() const;

 private:
  std::optional<agent::Ending> limit_reached() const;

  const agent::Limits limits_;
  const std::string whose_;
  std::function<agent::Ending(agent::Ending)> tell_whose_;  // null: as it is
  mutable std::mutex mutex_;                                // of the next two
  std::int64_t tokens_ = 0;
  std::optional<agent::Money> cost_ = agent::Money{};  // nullopt: unknown
};

}  // namespace cli
