#include "config/user_config.h"

#include "tests/unit/config/load_support.h"

#include <catch2/catch.hpp>

using agent::Money;

TEST_CASE("user config: prices by model", "[config]") {
  const auto config = config::parse_user_config(R"(
prices:
  openai/gpt-5-mini: {input: 0.25, output: "2"}
  local/m: {input: 0, output: 1e-3, cache_read: .5, cache_write: 1, cache_write_1h: 2, reasoning: 3}
  a/long: {input: 1, output: 2, tiers: [{above_input_tokens: 1k, input: 3, output: 4}]}
x-note: anything
)",
                                                "config.yaml");
  REQUIRE(config);
  REQUIRE(config->prices.size() == 3);
  CHECK(config->prices.at("openai/gpt-5-mini").input.base == Money::parse("0.25"));
  CHECK(config->prices.at("openai/gpt-5-mini").output.base == Money::parse("2"));
  CHECK_FALSE(config->prices.at("openai/gpt-5-mini").cache_read);
  const agent::Price& local = config->prices.at("local/m");
  CHECK(local.output.base == Money::parse("0.001"));
  CHECK(local.cache_read->base == Money::parse("0.5"));
  CHECK(local.cache_write->base == Money::parse("1"));
  CHECK(local.cache_write_1h->base == Money::parse("2"));
  CHECK(local.reasoning->base == Money::parse("3"));
  const agent::Price& tiered = config->prices.at("a/long");
  CHECK(cost(tiered, {.input = 1'000, .output = 1'000}) == Money::parse("0.003"));
  CHECK(cost(tiered, {.input = 1'001, .output = 1'000}) == Money::parse("0.007003"));
}

TEST_CASE("user config: an empty file, or none, says nothing", "[config]") {
  const config_test::Folder folder;
  CHECK(config::load_user_config(folder.path() / "config.yaml")->prices.empty());
  CHECK(config::parse_user_config("", "config.yaml")->prices.empty());
  for (const char* text :
       {"# nothing yet\n\n", "---\n", "---\n# nothing\n...\n", "\xEF\xBB\xBF# nothing\n"}) {
    INFO(text);
    const auto config = config::parse_user_config(text, "config.yaml");
    REQUIRE(config);
    CHECK(config->prices.empty());
  }
  CHECK_FALSE(config::parse_user_config("nothing\n", "config.yaml"));
  CHECK_FALSE(config::load_user_config(folder.path()));
}

TEST_CASE("user config: every mistake is told with its place", "[config]") {
  const auto config = config::parse_user_config(R"(prises: {}
prices:
  gpt-5: {input: 1, output: 2}
  a/b: {input: -1}
  c/d: {input: 1, output: 2, image: 3}
  e/f:
    input: 1
    output: 2
    tiers:
      - {above_input_tokens: 1k, cache_read: 1}
      - {above_input_tokens: 0, input: 1}
)",
                                                "config.yaml");
  REQUIRE_FALSE(config);
  std::vector<int> lines;
  for (const agent::Error& error : config.error()) {
    CHECK(error.code == agent::Code::config_invalid);
    lines.push_back(error.where->line);
  }
  CHECK(lines == std::vector<int>{1, 3, 4, 4, 5, 10, 11});
}
