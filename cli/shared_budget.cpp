#include "cli/shared_budget.h"

#include "agent/step.h"

#include <map>

namespace cli {

agent::Asking nothing_asked() {
  static const std::string k_any_model;
  static const std::map<std::string, agent::Price> k_no_prices;
  return {.model = k_any_model, .prices = k_no_prices};
}

bool has_limit(const agent::Limits& limits) {
  return limits.max_cost_usd || limits.max_total_tokens;
}

std::expected<std::optional<std::int64_t>, agent::Ending> Budgets::room_for(
    const agent::Asking& asking) const {
  std::optional<std::int64_t> room;
  for (const agent::Budget* const budget : budgets_) {
    const auto left = budget != nullptr ? budget->room_for(asking) : room;
    if (!left) {
      if (ended_ != nullptr) {
        ended_->end(left.error());
      }
      return left;
    }
    room = agent::least(room, *left);
  }
  return room;
}

void SharedBudget::begin_with(const Spending& spent, const LastEvents& heard) {
  const std::lock_guard lock(mutex_);
  spent_ = spent;
  heard_ = heard;
}

void SharedBudget::count_others(const std::filesystem::path& journal, const std::string& run_id) {
  if (has_limit(limits_) && !journal.empty()) {
    elsewhere_ = SpentElsewhere::from_now_on(journal, run_id);
  }
}

void SharedBudget::on(const agent::Event& event) {
  if (elsewhere_) {
    elsewhere_->note_own(event);
  }
  count(event);
}

void SharedBudget::count(const agent::Event& event) const {
  const auto use = agent::use_in(event.body);
  if (!use) {
    return;
  }
  const std::lock_guard lock(mutex_);
  std::int64_t& heard = heard_[event.run_id];
  if (event.seq > heard) {
    heard = event.seq;
    spent_.tokens += use->usage.total();
    spent_.cost = agent::sum_of(spent_.cost, use->cost);
  }
}

std::optional<agent::Ending> SharedBudget::at_limit() const {
  auto room = room_for(nothing_asked());
  const std::lock_guard lock(mutex_);
  return room ? refused_ : std::optional(std::move(room).error());
}

std::expected<std::optional<std::int64_t>, agent::Ending> SharedBudget::room_for(
    const agent::Asking& asking) const {
  auto room = room_within(limits_, asking);
  if (!room) {
    const std::lock_guard lock(mutex_);
    refused_ = room.error();
  }
  return room;
}

std::expected<std::optional<std::int64_t>, agent::Ending> SharedBudget::room_within(
    const agent::Limits& limits, const agent::Asking& asking) const {
  if (elsewhere_) {
    elsewhere_->look([this](const agent::Event& event) { count(event); });
  }
  const std::lock_guard lock(mutex_);
  auto room = agent::room_within(limits, spent_, asking, " by " + whose_);
  if (!room && tell_whose_) {
    return std::unexpected(tell_whose_(std::move(room).error()));
  }
  return room;
}

}  // namespace cli
