#include "cli/shared_budget.h"

#include "agent/step.h"

#include <fmt/format.h>

namespace cli {

using agent::Code;

Spending unheard(const agent::State& member, const std::optional<agent::MemberFinished>& heard) {
  Spending spending{.tokens = member.usage.total(), .cost = member.cost};
  if (heard) {
    const agent::RunResult& before = heard->result;
    spending.tokens -= before.usage.total();
    spending.cost =
        spending.cost && before.cost ? std::optional(*spending.cost - *before.cost) : std::nullopt;
  }
  return spending;
}

void SharedBudget::begin_with(std::int64_t tokens, std::optional<agent::Money> cost) {
  const std::lock_guard lock(mutex_);
  tokens_ = tokens;
  cost_ = cost;
}

void SharedBudget::add(const Spending& spending) {
  const std::lock_guard lock(mutex_);
  tokens_ += spending.tokens;
  cost_ = agent::sum_of(cost_, spending.cost);
}

void SharedBudget::on(const agent::Event& event) {
  if (const auto use = agent::use_in(event.body)) {
    add({.tokens = use->usage.total(), .cost = use->cost});
  }
}

std::optional<agent::Ending> SharedBudget::at_limit() const {
  auto ending = limit_reached();
  return ending && tell_whose_ ? tell_whose_(*std::move(ending)) : std::move(ending);
}

std::optional<agent::Ending> SharedBudget::limit_reached() const {
  const std::lock_guard lock(mutex_);
  if (const auto max = limits_.max_total_tokens; max && tokens_ >= *max) {
    return agent::stopped_at(Code::run_token_budget,
                             static_cast<double>(tokens_),
                             static_cast<double>(*max),
                             fmt::format("{} of {} tokens are used by {}", tokens_, *max, whose_));
  }
  if (const auto max = limits_.max_cost_usd; max && (!cost_ || *cost_ >= *max)) {
    return agent::stopped_at(
        Code::run_cost_budget,
        cost_.value_or(*max).dollars(),
        max->dollars(),
        cost_
            ? fmt::format("{} of {} are spent by {}",
                          agent::format_money(cost_),
                          agent::format_money(*max),
                          whose_)
            : std::string("what an answer cost is unknown, so that the limit cannot be enforced"));
  }
  return std::nullopt;
}

}  // namespace cli
