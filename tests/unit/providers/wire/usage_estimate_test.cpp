#include "providers/wire/usage_estimate.h"

#include <catch2/catch.hpp>

namespace {

using agent::Usage;
using providers::estimate;
using providers::Exchange;

constexpr Exchange k_exchange{.sent = 4'001, .attached = 0, .received = 398};

}  // namespace

TEST_CASE("usage_estimate: what can be counts itself", "[providers]") {
  const auto usage = GENERATE(values<Usage>({
      {.input = 1'000, .output = 100},
      {.input = 5, .output = 1},  // a thousand bytes a token, and no more
      {.input = 20'000'000, .output = 20'000'000},
      {.input = 1'000, .output = 9'000, .reasoning = 8'900},
      {.input = 1'000, .output = 100, .cache_read = 600, .cache_write = 400, .cache_write_1h = 400},
  }));
  CHECK(estimate(usage, k_exchange) == std::nullopt);
}

TEST_CASE("usage_estimate: each part that cannot be is estimated, the others stay", "[providers]") {
  struct Row {
    Usage reported;
    Usage counts;
  };
  const auto row = GENERATE(values<Row>({
      {{}, {.input = 1'001, .output = 100}},
      {{.input = 4, .output = 1}, {.input = 1'001, .output = 1}},
      {{.input = 1'000}, {.input = 1'000, .output = 100}},
      {{.input = -1'000, .output = -1}, {.input = 1'001, .output = 100}},
      {{.input = 20'000'001, .output = 20'000'001}, {.input = 1'001, .output = 100}},
      {{.input = 1'000, .output = 100, .cache_read = 1'001}, {.input = 1'000, .output = 100}},
      {{.input = 1'000, .output = 100, .cache_read = -1}, {.input = 1'000, .output = 100}},
      {{.input = 1'000, .output = 100, .cache_write = 1, .cache_write_1h = 2},
       {.input = 1'000, .output = 100}},
      {{.input = 1'000, .output = 100, .reasoning = -9}, {.input = 1'000, .output = 100}},
      {{.input = 1'000, .output = 100, .reasoning = 300},
       {.input = 1'000, .output = 400, .reasoning = 300}},
      {{.input = 1'000, .reasoning = 300}, {.input = 1'000, .output = 400, .reasoning = 300}},
  }));
  CHECK(estimate(row.reported, k_exchange) == row.counts);
}

TEST_CASE("usage_estimate: attachments cost what they cost, whatever their bytes", "[providers]") {
  CHECK(estimate({.output = 1}, {.sent = 400, .attached = 1'600, .received = 4}) ==
        Usage{.input = 1'700, .output = 1});
}

TEST_CASE("usage_estimate: an answer of nothing uses nothing", "[providers]") {
  CHECK(estimate({.input = 1'000}, {.sent = 4'000, .received = 0}) == std::nullopt);
}

TEST_CASE("usage_estimate: text, thoughts and calls are what an answer is made of", "[providers]") {
  CHECK(agent::bytes_of({.text = "abc",
                         .reasoning = "de",
                         .tool_calls = {{.id = "id", .name = "x", .arguments = "{}"}}}) == 8);
}

TEST_CASE("usage_estimate: where a part of a sum is no count, the others stay", "[providers]") {
  Exchange exchange = k_exchange;
  exchange.unshown.lacks_input = true;
  CHECK(estimate({.input = 50'000, .output = 100}, exchange) ==
        Usage{.input = 50'000, .output = 100});
  CHECK(estimate({.input = 900, .output = 100, .cache_read = 900}, exchange) ==
        Usage{.input = 1'001, .output = 100, .cache_read = 900});
  exchange.unshown = {.lacks_output = true};
  CHECK(estimate({.input = 1'000, .output = 9'000, .reasoning = -1}, exchange) ==
        Usage{.input = 1'000, .output = 9'000});
  CHECK(estimate({.input = 1'000, .output = 10, .reasoning = 10}, exchange) ==
        Usage{.input = 1'000, .output = 100, .reasoning = 10});
}

TEST_CASE("usage_estimate: a count of the cache that can be stays beside one that cannot",
          "[providers]") {
  CHECK(estimate({.input = 1'000, .output = 100, .cache_read = -1, .cache_write = 400},
                 k_exchange) == Usage{.input = 1'000, .output = 100, .cache_write = 400});
}

TEST_CASE("usage_estimate: a refusal counts as text does, sealed thoughts where nothing is said",
          "[providers]") {
  CHECK(estimate({.input = 1'000}, {.sent = 4'000, .unshown = {.refusal = 400}}) ==
        Usage{.input = 1'000, .output = 100});
  CHECK(estimate({.input = 1'000}, {.sent = 4'000, .received = 400, .unshown = {.sealed = 400}}) ==
        Usage{.input = 1'000, .output = 200});
  CHECK(estimate({.input = 1'000}, {.sent = 4'000, .unshown = {.sealed = 400}}) ==
        Usage{.input = 1'000, .output = 100});
  CHECK(estimate({.input = 1'000, .output = 1}, {.sent = 4'000, .unshown = {.sealed = 4'000}}) ==
        std::nullopt);
}
