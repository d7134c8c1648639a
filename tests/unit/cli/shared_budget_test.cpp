#include "cli/shared_budget.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace {

agent::Money dollars(const char* text) {
  return *agent::Money::parse(text);
}

agent::Event answer(std::string run_id, std::int64_t seq, const char* cost) {
  agent::Reply reply;
  reply.cost = dollars(cost);
  return {.run_id = std::move(run_id),
          .seq = seq,
          .time = {},
          .body = agent::ModelResponded{.reply = std::move(reply)}};
}

}  // namespace

TEST_CASE("shared budget: what was spent before counts, and each event once", "[cli]") {
  const agent::Limits limits{.max_cost_usd = dollars("0.5")};
  cli::SharedBudget budget(limits, "all");
  budget.begin_with({.tokens = 10, .cost = dollars("0.2")}, {{"a", 7}});
  CHECK(!budget.at_limit());
  budget.on(answer("a", 7, "0.2"));  // the record has it
  budget.on(answer("a", 8, "0.1"));
  budget.on(answer("a", 8, "0.1"));
  budget.on(answer("b", 1, "0.1"));
  CHECK(!budget.at_limit());
  budget.on(answer("b", 2, "0.1"));
  CHECK(budget.at_limit());
}
