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

TEST_CASE("user config: servers that keys may go to", "[config]") {
  const auto config = config::parse_user_config(
      "key_hosts:\n  A_KEY: [\"https://a.example\", \"http://10.0.0.5:8000/\"]\n  x-note: 1\n",
      "config.yaml");
  REQUIRE(config);
  REQUIRE(config->key_hosts.size() == 2);
  CHECK(config->key_hosts[0].variable == "A_KEY");
  CHECK(config->key_hosts[1].url == "http://10.0.0.5:8000/");
  CHECK(config->key_hosts[1].where.line == 2);
  for (const char* url : {"https://a.example/v1",
                          "https://*example",
                          "**",
                          "a.example",
                          "https://u@a.example",
                          "https://a.example?x",
                          "https://a.example:0",
                          "https://",
                          "ftp://a.example"}) {
    INFO(url);
    CHECK_FALSE(config::parse_user_config("key_hosts: {A: [\"" + std::string(url) + "\"]}\n",
                                          "config.yaml"));
  }
  CHECK_FALSE(config::parse_user_config("key_hosts: {A: []}\n", "config.yaml"));
  CHECK_FALSE(config::parse_user_config("key_hosts: {A: \"https://a.example\"}\n", "config.yaml"));
  CHECK_FALSE(config::parse_user_config("key_hosts: {A-B: [\"https://a.ex\"]}\n", "config.yaml"));
}

TEST_CASE("user config: a server is added, and nothing else changes", "[config]") {
  const auto [text, wanted] = GENERATE(table<std::string, std::string>({
      {"", "key_hosts:\n  KEY:\n    - \"https://a.ex\"\n"},
      {"# mine", "# mine\nkey_hosts:\n  KEY:\n    - \"https://a.ex\"\n"},
      {"permissions: {deny: [shell]} # no\n",
       "permissions: {deny: [shell]} # no\nkey_hosts:\n  KEY:\n    - \"https://a.ex\"\n"},
      {"key_hosts:\n  B: [\"http://b\"] # b\n",
       "key_hosts:\n  KEY: [\"https://a.ex\"]\n  B: [\"http://b\"] # b\n"},
      {"key_hosts: {B: [\"http://b\"]}\n",
       "key_hosts: {KEY: [\"https://a.ex\"], B: [\"http://b\"]}\n"},
      {"key_hosts:\n  KEY:\n    # first\n    - http://b\n",
       "key_hosts:\n  KEY:\n    # first\n    - \"https://a.ex\"\n    - http://b\n"},
      {"key_hosts: {KEY: [http://b]}\n", "key_hosts: {KEY: [\"https://a.ex\", http://b]}\n"},
      {"key_hosts: {KEY: [https://a.ex]}\n", "key_hosts: {KEY: [https://a.ex]}\n"},
  }));
  const auto changed = config::with_key_host(text, "KEY", "https://a.ex");
  REQUIRE(changed);
  CHECK(*changed == wanted);
}

TEST_CASE("user config: what cannot be added to is left alone", "[config]") {
  for (const char* text :
       {"{permissions: {}}\n", "permissions: {}\n...\n", "nothing\n", "a: [\n"}) {
    INFO(text);
    const auto changed = config::with_key_host(text, "KEY", "https://a.ex");
    REQUIRE_FALSE(changed);
    CHECK(changed.error().help.find(R"(key_hosts: {KEY: ["https://a.ex"]})") != std::string::npos);
  }
}
