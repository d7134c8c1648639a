// What a run and its members spend together, and whether that is too much.
#pragma once
#include "agent/budget.h"
#include "agent/cancellation.h"
#include "agent/event.h"
#include "agent/money.h"
#include "agent/outcome.h"
#include "agent/spec.h"
#include "agent/state.h"
#include "agent/step.h"
#include "cli/spent_elsewhere.h"

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {

using agent::Spending;

// The number of the last event of each run that is counted.
using LastEvents = std::map<std::string, std::int64_t>;

// No request: whether anything is left.
agent::Asking nothing_asked();

// Of what is spent: which all have together.
bool has_limit(const agent::Limits& limits);

// What several budgets leave together. Thread-safe, as they are; borrowed.
class Budgets final : public agent::Budget {
 public:
  // `ended`: the run that is over where one of them leaves nothing; null: whoever asks sees to
  // that.
  explicit Budgets(std::vector<const agent::Budget*> budgets, agent::Cancellation* ended = nullptr)
      : budgets_(std::move(budgets)), ended_(ended) {}

  std::expected<std::optional<std::int64_t>, agent::Ending> room_for(
      const agent::Asking& asking) const override;

 private:
  std::vector<const agent::Budget*> budgets_;  // null: none
  agent::Cancellation* ended_;
};

// Thread-safe. As a sink it counts what the events cost that it hears.
class SharedBudget final : public agent::EventSink, public agent::Budget {
 public:
  // `whose`: "the flow", for messages.
  SharedBudget(const agent::Limits& limits, std::string whose)
      : limits_(limits), whose_(std::move(whose)) {}

  // Before it is asked: how the limit is told to those below.
  void tell_whose(std::function<agent::Ending(agent::Ending)> tell) {
    tell_whose_ = std::move(tell);
  }
  // What earlier processes have spent, by records that end with these events.
  void begin_with(const Spending& spent, const LastEvents& heard);
  // From now on, what other processes spend on that run and its members counts, too: before each
  // answer of this, what is new in the journal is read. What cannot be read does not count.
  void count_others(const std::filesystem::path& journal, const std::string& run_id);
  // Once for each event, whoever tells it.
  void on(const agent::Event& event) override;
  // How a run ends that would ask for more, or has wanted to; nullopt: it may.
  std::optional<agent::Ending> at_limit() const;
  // What is under way at the same time is not counted.
  std::expected<std::optional<std::int64_t>, agent::Ending> room_for(
      const agent::Asking& asking) const override;
  // The same within other limits than its own.
  std::expected<std::optional<std::int64_t>, agent::Ending> room_within(
      const agent::Limits& limits, const agent::Asking& asking) const;

 private:
  void count(const agent::Event& event) const;

  const agent::Limits limits_;
  const std::string whose_;
  std::function<agent::Ending(agent::Ending)> tell_whose_;  // null: as it is
  std::unique_ptr<SpentElsewhere> elsewhere_;               // null: nobody else is at work
  mutable std::mutex mutex_;                                // of the next three
  mutable Spending spent_;                                  // by all, as far as is known
  mutable LastEvents heard_;
  mutable std::optional<agent::Ending> refused_;  // for the last request that was too much
};

// What one has without the share that `limits.wrap_up` keeps for its last turn. Borrows it.
class BudgetBeforeTheShare final : public agent::Budget {
 public:
  BudgetBeforeTheShare(const SharedBudget& whole, const agent::Limits& limits)
      : whole_(whole), limits_(agent::before_the_share(limits)) {}

  std::expected<std::optional<std::int64_t>, agent::Ending> room_for(
      const agent::Asking& asking) const override {
    return whole_.room_within(limits_, asking);
  }

 private:
  const SharedBudget& whole_;
  const agent::Limits limits_;
};

}  // namespace cli
