#include "providers/resilience/priced_provider.h"

#include "agent/json.h"
#include "providers/wire/answer_decoder.h"
#include "tests/support/fakes.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <variant>

using agent::Money;

namespace {

std::optional<Money> cost_of(const agent::Reply& reply, const agent::Tariff& tariff) {
  tests::FakeClock clock;
  auto inner =
      std::make_unique<tests::ScriptedProvider>(std::deque<tests::ScriptedProvider::Answer>{
          [&](const agent::ModelRequest&, const agent::Emit&) {
            return agent::Result<agent::Reply>(reply);
          }});
  providers::PricedProvider provider(std::move(inner), tariff, clock);
  const agent::Conversation conversation;
  return provider.complete({.instructions = {}, .tools = {}, .conversation = conversation}, {}, {})
      ->cost;
}

agent::Tariff tariff(const char* input) {
  return {.periods = {{.price = {.input = {.base = *Money::parse(input)}}}}};
}

std::optional<Money> reported(const char* usage) {
  return providers::reported_cost(*agent::parse_json(usage));
}

}  // namespace

TEST_CASE("priced provider: a reply gets its cost, unless it brings one", "[providers]") {
  const agent::Usage usage{.input = 1'000'000, .output = 5};
  CHECK(cost_of({.usage = usage}, tariff("2")) == Money::parse("2"));
  CHECK(cost_of({.usage = usage, .cost = Money::parse("1.5")}, tariff("2")) == Money::parse("1.5"));
  CHECK(cost_of({.usage = usage}, {}) == std::nullopt);
  CHECK(cost_of({.usage = usage, .cost = Money{}}, {}) == Money{});
  CHECK(cost_of({.usage = usage, .cost = Money::parse("0.02")}, tariff("2")) ==
        Money::parse("0.02"));
  for (const char* next_to_nothing : {"0", "0.0199", "0.000001"}) {
    CHECK(cost_of({.usage = usage, .cost = Money::parse(next_to_nothing)}, tariff("2")) ==
          Money::parse("2"));
  }
}

TEST_CASE("priced provider: an estimate is charged in place of what cannot be", "[providers]") {
  CHECK(cost_of({.usage = {.input = -5}, .estimated = agent::Usage{.input = 1'000'000}},
                tariff("2")) == Money::parse("2"));
}

TEST_CASE("priced provider: what came of an answer that broke off gets its cost", "[providers]") {
  tests::FakeClock clock;
  const auto cost = [&](const agent::ModelBroken& broken) {
    auto inner =
        std::make_unique<tests::ScriptedProvider>(std::deque<tests::ScriptedProvider::Answer>{
            [&](const agent::ModelRequest&, const agent::Emit& emit) {
              emit(broken);
              return agent::Result<agent::Reply>(
                  agent::fail(agent::Code::provider_stream_broken, "cut"));
            }});
    providers::PricedProvider provider(std::move(inner), tariff("2"), clock);
    const agent::Conversation conversation;
    std::optional<Money> found;
    const auto listen = [&](const agent::EventBody& body) {
      found = std::get<agent::ModelBroken>(body).cost;
    };
    const auto reply = provider.complete(
        {.instructions = {}, .tools = {}, .conversation = conversation}, listen, {});
    CHECK_FALSE(reply);
    return found;
  };
  CHECK(cost({.usage = {.input = 500'000}, .estimated = {}, .cost = {}}) == Money::parse("1"));
  CHECK(cost({.usage = {}, .estimated = agent::Usage{.input = 1'000'000}, .cost = {}}) ==
        Money::parse("2"));
  CHECK(cost({.usage = {.input = 5}, .estimated = {}, .cost = Money::parse("3")}) ==
        Money::parse("3"));
}

TEST_CASE("priced provider: without counted tokens the cost is unknown, but where it is free",
          "[providers]") {
  CHECK(cost_of({}, tariff("2")) == std::nullopt);
  CHECK(cost_of({}, tariff("0")) == Money{});
}

TEST_CASE("reported cost: what providers say is taken to the digit", "[providers]") {
  CHECK(reported(R"({"cost": 0.00007159})") == Money::parse("0.00007159"));
  CHECK(reported(R"({"cost": 7.159e-05})") == Money::parse("0.00007159"));
  CHECK(reported(R"({"cost": 0})") == Money{});
  CHECK(reported(R"({"cost": 0.30000000000000004})") == Money::parse("0.3"));
  CHECK(reported(R"({"cost_in_usd_ticks": 1654500})") == Money::parse("0.00016545"));
  CHECK(reported(R"({"cost": {"total_cost": 0.00501}})") == Money::parse("0.00501"));
  CHECK(
      reported(
          R"({"cost": 0.01, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.2}})") ==
      Money::parse("0.21"));
  CHECK(reported(R"({"cost": 0.01, "is_byok": true})") == std::nullopt);
  CHECK(reported(R"({"cost": "0.01"})") == std::nullopt);
  CHECK(reported(R"({"cost": -1})") == std::nullopt);
  CHECK(reported(R"({"cost_in_usd_ticks": -1})") == std::nullopt);
  CHECK(reported(R"({"cost_in_usd_ticks": 9223372036854775807})") == std::nullopt);
  CHECK(reported("{}") == std::nullopt);
  CHECK(reported("null") == std::nullopt);
}
