#include "agent/store/run_row.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Event;
using agent::Money;
using agent::store::RowFold;
using agent::store::RunRow;

constexpr const char* k_run = "01a20000-0001-7000-8000-000000000001";

Event event_of(agent::EventBody body) {
  return {.run_id = k_run, .seq = 1, .time = {}, .body = std::move(body)};
}

agent::MemberFinished member(std::string name, std::int64_t turns, std::optional<Money> cost) {
  agent::MemberFinished end{.member = std::move(name)};
  end.result.turns = turns;
  end.result.cost = cost;
  return end;
}

Money cents(std::int64_t number) {
  return Money::from_picos(number * 10'000'000'000);
}

RunRow row_of(const std::vector<agent::EventBody>& bodies) {
  const agent::Redactor nothing{agent::Environment{}};
  RowFold whole;
  for (const agent::EventBody& body : bodies) {
    whole.add(event_of(body), nothing);
  }
  // From wherever it goes on, it comes to the same.
  for (std::size_t at = 0; at <= bodies.size(); ++at) {
    RowFold first;
    std::vector<Event> told;
    for (std::size_t number = 0; number < at; ++number) {
      told.push_back(event_of(bodies[number]));
      first.add(told.back(), nothing);
    }
    RowFold second(first.row(), told);
    for (std::size_t number = at; number < bodies.size(); ++number) {
      second.add(event_of(bodies[number]), nothing);
    }
    CHECK(second.row() == whole.row());
  }
  return whole.row();
}

}  // namespace

TEST_CASE("run row: members count while the run is at work, each bill once", "[agent]") {
  const RunRow row = row_of({member("one", 2, cents(3)),
                             member("two", 1, cents(1)),
                             member("two", 4, cents(6))});  // carried on: all of it again
  CHECK(row.turns == 6);
  CHECK(row.cost == cents(9));
}

TEST_CASE("run row: each round of a step has a bill of its own", "[agent]") {
  agent::MemberFinished again = member("one", 1, cents(2));
  again.round = 2;
  CHECK(row_of({member("one", 1, cents(2)), again}).cost == cents(4));
}

TEST_CASE("run row: the turns of a sub-agent are its own, its cost is not", "[agent]") {
  agent::MemberFinished sub_agent = member("helper[1]", 5, cents(2));
  sub_agent.call_id = "c1";
  const RunRow row = row_of({sub_agent});
  CHECK(row.turns == 0);
  CHECK(row.cost == cents(2));
}

TEST_CASE("run row: what another run has paid costs nothing", "[agent]") {
  agent::MemberFinished taken = member("one", 5, cents(2));
  taken.taken_from = "01a20000-0002-7000-8000-000000000002";
  const RunRow row = row_of({taken});
  CHECK(row.turns == 0);
  CHECK(row.cost == Money());
}

TEST_CASE("run row: a member of unknown cost makes that of the run unknown", "[agent]") {
  CHECK(row_of({member("one", 1, std::nullopt), member("two", 1, cents(1))}).cost == std::nullopt);
}
