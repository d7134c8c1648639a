#include "cli/shared_budget.h"

#include <catch2/catch.hpp>

#include <optional>

namespace {

agent::Money dollars(const char* text) {
  return *agent::Money::parse(text);
}

agent::State spent(std::int64_t tokens, std::optional<agent::Money> cost) {
  agent::State state;
  state.usage.input = tokens;
  state.cost = cost;
  return state;
}

agent::MemberFinished told(std::int64_t tokens, std::optional<agent::Money> cost) {
  agent::MemberFinished finished;
  finished.result.usage.input = tokens;
  finished.result.cost = cost;
  return finished;
}

}  // namespace

TEST_CASE("shared budget: what a member had spent counts once", "[cli]") {
  const auto all = cli::unheard(spent(30, dollars("0.3")), std::nullopt);
  CHECK(all.tokens == 30);
  CHECK(all.cost == dollars("0.3"));
  const auto more = cli::unheard(spent(30, dollars("0.3")), told(10, dollars("0.1")));
  CHECK(more.tokens == 20);
  CHECK(more.cost == dollars("0.2"));
  CHECK(!cli::unheard(spent(30, std::nullopt), std::nullopt).cost);
  CHECK(!cli::unheard(spent(30, std::nullopt), told(10, dollars("0.1"))).cost);

  const agent::Limits limits{.max_cost_usd = dollars("0.5")};
  cli::SharedBudget budget(limits, "all");
  budget.begin_with(10, dollars("0.2"));
  CHECK(!budget.at_limit());
  budget.add(more);
  CHECK(!budget.at_limit());
  budget.add({.tokens = 1, .cost = dollars("0.1")});
  CHECK(budget.at_limit());
}
