#include "cli/shared_budget.h"

#include <catch2/catch.hpp>

namespace {

agent::Money dollars(const char* text) {
  return *agent::Money::parse(text);
}

}  // namespace

TEST_CASE("shared budget: what was spent before counts", "[cli]") {
  const agent::Limits limits{.max_cost_usd = dollars("0.5")};
  cli::SharedBudget budget(limits, "all");
  budget.begin_with(10, dollars("0.2"));
  CHECK(!budget.at_limit());
  budget.add({.tokens = 20, .cost = dollars("0.2")});
  CHECK(!budget.at_limit());
  budget.add({.tokens = 1, .cost = dollars("0.1")});
  CHECK(budget.at_limit());
}
