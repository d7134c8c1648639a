#include "agent/flow/flow_part.h"

#include <catch2/catch.hpp>

#include <span>
#include <string>
#include <vector>

namespace {

using agent::StepSpec;
using agent::flow::narrow;
using agent::flow::Part;
using agent::flow::parts_from;
using agent::flow::parts_of_one;

// plan >> (fix | docs) >> test >> note; spell
const std::vector<StepSpec> k_steps = {{.name = "plan", .command = "x"},
                                       {.name = "fix", .command = "x", .needs = {0}},
                                       {.name = "docs", .command = "x", .needs = {0}},
                                       {.name = "test",
                                        .command = "x",
                                        .needs = {1, 2},
                                        .repeat = StepSpec::Repeat{.with = 1, .max = 2}},
                                       {.name = "note", .command = "x", .needs = {3}},
                                       {.name = "spell", .command = "x"}};

// R runs, t is taken, - is left out.
std::string letters(std::span<const Part> parts) {
  std::string all;
  for (const Part part : parts) {
    all += part == Part::runs ? 'R' : part == Part::taken ? 't' : '-';
  }
  return all;
}

}  // namespace

TEST_CASE("flow part: from a step on") {
  CHECK(letters(parts_from(k_steps, 0)) == "RRRRR-");
  CHECK(letters(parts_from(k_steps, 1)) == "tRtRR-");
  CHECK(letters(parts_from(k_steps, 4)) == "ttttR-");
  CHECK(letters(parts_from(k_steps, 5)) == "-----R");
}

TEST_CASE("flow part: one step alone") {
  CHECK(letters(parts_of_one(k_steps, 0)) == "R-----");
  CHECK(letters(parts_of_one(k_steps, 3)) == "tttR--");
  CHECK(letters(parts_of_one(k_steps, 2)) == "t-R---");
}

TEST_CASE(
    "flow part: what is left out has a condition that does not hold, and what is taken is not "
    "repeated") {
  std::vector<StepSpec> steps = k_steps;
  narrow(steps, parts_from(steps, 4));
  CHECK_FALSE(steps[3].repeat);
  CHECK(steps[5].when == "false");
  CHECK(steps[0].when.empty());

  steps = k_steps;
  narrow(steps, parts_from(steps, 3));
  CHECK(steps[3].repeat);  // with `fix`, which runs again then

  steps = k_steps;
  narrow(steps, parts_of_one(steps, 3));
  CHECK_FALSE(steps[3].repeat);
}
