// The limits and kill switches of the runs that one worked for which is carried on by itself.
#pragma once
#include "agent/cancellation.h"
#include "agent/error.h"
#include "agent/event.h"
#include "agent/work_time.h"
#include "cli/agents_above.h"
#include "cli/shared_budget.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace cli {

// As if that run had stopped so.
agent::Ending ending_above(agent::Ending ending, const RunAbove& run);

class LimitsAbove final : public agent::Budget {
 public:
  // Borrows the cancellation of the run.
  LimitsAbove(const std::vector<RunAbove>& runs, agent::Cancellation& cancellation);

  // They count what the events cost that they hear: of the run and of its members.
  std::vector<agent::EventSink*> sinks() const;
  // Before each request.
  std::optional<agent::Error> at_limit() const;
  std::expected<std::optional<std::int64_t>, agent::Ending> room_for(
      const agent::Asking& asking) const override;
  std::vector<std::filesystem::path> kill_files() const { return kill_files_; }
  // Of the one with the least time left; nullopt: none has such a limit.
  const std::optional<agent::TimeAbove>& time() const { return time_; }

 private:
  agent::Cancellation& cancellation_;
  std::vector<std::unique_ptr<SharedBudget>> budgets_;
  std::vector<std::filesystem::path> kill_files_;
  std::optional<agent::TimeAbove> time_;
};

}  // namespace cli
