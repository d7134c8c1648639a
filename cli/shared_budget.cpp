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

void SharedBudget::begin_with(std::int64_t tokens, std::optional<agent::Money> cost) {
  const std::lock_guard lock(mutex_);
  spent_ = {.tokens = tokens, .cost = cost};
}

void SharedBudget::add(const Spending& spending) {
  const std::lock_guard lock(mutex_);
  spent_.tokens += spending.tokens;
  spent_.cost = agent::sum_of(spent_.cost, spending.cost);
}

void SharedBudget::on(const agent::Event& event) {
  if (const auto use = agent::use_in(event.body)) {
    add({.tokens = use->usage.total(), .cost = use->cost});
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
  const std::lock_guard lock(mutex_);
  auto room = agent::room_within(limits, spent_, asking, " by " + whose_);
  if (!room && tell_whose_) {
    return std::unexpected(tell_whose_(std::move(room).error()));
  }
  return room;
}

}  // namespace cli
