#include "cli/limits_above.h"

#include "agent/duration.h"
#include "agent/money.h"
#include "agent/resume_command.h"
#include "agent/step.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace cli {
namespace {

std::string words_of(const RunAbove& run) {
  return fmt::format("the run {} ({}), for which this one works, and its members",
                     run.run_id,
                     agent::one_line(run.name, 60));
}

agent::TimeAbove time_of(const RunAbove& run) {
  const agent::Milliseconds limit = *run.limits.timeout;
  const double seconds = static_cast<double>(limit.count()) / 1000;
  return {
      .left = std::max(limit - run.worked, agent::Milliseconds{0}),
      .ending = ending_above(agent::stopped_at(agent::Code::run_timeout,
                                               seconds,
                                               seconds,
                                               fmt::format("{}, were at work for longer than {}",
                                                           words_of(run),
                                                           agent::format_duration(limit))),
                             run)};
}

}  // namespace

agent::Ending ending_above(agent::Ending ending, const RunAbove& run) {
  agent::RunResult result{
      .exit_code = agent::exit_code(ending), .stop = ending.stop, .run_id = run.run_id};
  result.cost =
      run.spent.cost ? agent::Money::from_json(agent::Json(ending.stop->used)) : std::nullopt;
  result.duration_ms = run.worked.count();
  ending.stop->run_id = run.run_id;
  ending.stop->way_on = agent::resume_command(run.resume, result, run.limits);
  ending.error->help =
      ending.stop->way_on.empty()
          ? std::string("`--agent FILE` carries this run on without it, by an agent of your choice")
          : fmt::format("`{}` carries {} on", ending.stop->way_on, run.is_over ? "it" : "both");
  return ending;
}

LimitsAbove::LimitsAbove(const std::vector<RunAbove>& runs, agent::Cancellation& cancellation)
    : cancellation_(cancellation) {
  for (const RunAbove& run : runs) {
    auto& budget = budgets_.emplace_back(std::make_unique<SharedBudget>(run.limits, words_of(run)));
    budget->begin_with(run.spent, run.heard);
    budget->count_others(run.store, run.run_id);
    budget->tell_whose(
        [run](agent::Ending ending) { return ending_above(std::move(ending), run); });
    if (!run.kill_file.empty()) {
      kill_files_.push_back(run.kill_file);
    }
    if (run.limits.timeout) {
      auto time = time_of(run);
      if (!time_ || time.left < time_->left) {
        time_ = std::move(time);
      }
    }
  }
}

std::vector<agent::EventSink*> LimitsAbove::sinks() const {
  std::vector<agent::EventSink*> sinks;
  for (const auto& budget : budgets_) {
    sinks.push_back(budget.get());
  }
  return sinks;
}

std::expected<std::optional<std::int64_t>, agent::Ending> LimitsAbove::room_for(
    const agent::Asking& asking) const {
  std::vector<const agent::Budget*> budgets;
  for (const auto& budget : budgets_) {
    budgets.push_back(budget.get());
  }
  return Budgets(std::move(budgets), &cancellation_).room_for(asking);
}

std::optional<agent::Error> LimitsAbove::at_limit() const {
  for (const auto& budget : budgets_) {
    if (const auto ending = budget->at_limit()) {
      cancellation_.end(*ending);
      return ending->error;
    }
  }
  return std::nullopt;
}

}  // namespace cli
