#include "providers/prices/price_table.h"

#include "agent/duration.h"
#include "providers/prices/price_import.h"
#include "providers/prices/price_text.h"

#include <catch2/catch.hpp>
#include <re2/re2.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

using providers::PriceQuery;
using providers::PriceTable;

namespace {

constexpr std::string_view k_table = R"(errand-prices 1 2026-08-21
provider acme ( ~acme ) &( ~big ~corp ) : https://api\.acme\.com
model plain : in=1 out=2
model begins ^go- : in=3 out=4
model ends $-end : in=5 out=6
model holds ~mid : in=7 out=8
model pattern /^x\d+$ : in=9 out=10
model all &( ~red ~blue ( ^one ^two ) ) : in=11 out=12
model spaced =two%20words : in=13 out=14
model first ^same : in=15 out=16
model second ^same-name : in=17 out=18
provider gate : https://gate\.example/(v1|v2)
fallback other acme
model own =plain : in=100 out=200
provider other : https://other\.example
model there =there : in=1,1000:2 out=2 read=0.1 write=1.5 write1h=3 think=4 req=5 ; from=2027-01-01 in=5 out=6 ; at=22:00-06:00:01 in=7 out=8
)";

PriceTable table() {
  return PriceTable::open(k_table, "prices.txt").value();
}

std::string found(const PriceQuery& query) {
  const auto price = table().find(query).value();
  return price ? price->provider + "/" + price->model : "unknown";
}

std::string by_model(std::string_view model) {
  return found({.provider = "acme", .base_url = {}, .model = model});
}

}  // namespace

TEST_CASE("price table: each kind of match finds its model", "[providers]") {
  CHECK(by_model("plain") == "acme/plain");
  CHECK(by_model("PLAIN") == "acme/plain");
  CHECK(by_model("plain-2") == "unknown");
  CHECK(by_model("go-fast") == "acme/begins");
  CHECK(by_model("a-go-fast") == "unknown");
  CHECK(by_model("the-end") == "acme/ends");
  CHECK(by_model("in-the-middle") == "acme/holds");
  CHECK(by_model("x12") == "acme/pattern");
  CHECK(by_model("x12a") == "unknown");
  CHECK(by_model("one-red-blue") == "acme/all");
  CHECK(by_model("two-red-blue") == "acme/all");
  CHECK(by_model("three-red-blue") == "unknown");
  CHECK(by_model("one-red") == "unknown");
  CHECK(by_model("two words") == "acme/spaced");
}

TEST_CASE("price table: the first hit wins", "[providers]") {
  CHECK(by_model("same-name") == "acme/first");
}

TEST_CASE("price table: a provider is found by id, by rule or by address", "[providers]") {
  CHECK(found({.provider = "acme", .base_url = {}, .model = "plain"}) == "acme/plain");
  CHECK(found({.provider = "my-acme", .base_url = {}, .model = "plain"}) == "acme/plain");
  CHECK(found({.provider = "big-corp", .base_url = {}, .model = "plain"}) == "acme/plain");
  CHECK(found({.provider = "big-one", .base_url = {}, .model = "plain"}) == "unknown");
  CHECK(found({.provider = {}, .base_url = "https://api.acme.com/v1", .model = "plain"}) ==
        "acme/plain");
  CHECK(found({.provider = {},
               .base_url = "http://127.0.0.1/https://api.acme.com",
               .model = "plain"}) == "unknown");
  CHECK(found({.provider = "nobody", .base_url = "https://api.acme.com", .model = "plain"}) ==
        "unknown");
  CHECK(found({.provider = {}, .base_url = {}, .model = "plain"}) == "unknown");
}

TEST_CASE("price table: a gateway falls back to the models of others", "[providers]") {
  CHECK(found({.provider = "gate", .base_url = {}, .model = "plain"}) == "gate/own");
  CHECK(found({.provider = "gate", .base_url = {}, .model = "there"}) == "other/there");
  CHECK(found({.provider = {}, .base_url = "https://gate.example/v2", .model = "x1"}) ==
        "acme/pattern");
  CHECK(found({.provider = "gate", .base_url = {}, .model = "nothing"}) == "unknown");
}

TEST_CASE("price table: prices, tiers and periods are read as they are written", "[providers]") {
  const auto price =
      table().find({.provider = "other", .base_url = {}, .model = "there"}).value().value();
  REQUIRE(price.tariff.periods.size() == 3);
  const agent::Price& first = price.tariff.periods[0].price;
  CHECK(first.input.at(1000).text() == "1");
  CHECK(first.input.at(1001).text() == "2");
  CHECK(first.cache_read->base.text() == "0.1");
  CHECK(first.cache_write->base.text() == "1.5");
  CHECK(first.cache_write_1h->base.text() == "3");
  CHECK(first.reasoning->base.text() == "4");
  CHECK(first.per_thousand_requests.text() == "5");
  const std::string written = providers::write_tariff(price.tariff);
  CHECK(written ==
        "in=1,1000:2 out=2 read=0.1 write=1.5 write1h=3 think=4 req=5 ; from=2027-01-01 in=5 "
        "out=6 ; at=22:00-06:00:01 in=7 out=8");
  CHECK(providers::parse_tariff(written) == price.tariff);
}

TEST_CASE("price table: what is no table, or has a broken line, is said with its place",
          "[providers]") {
  const auto* const head = GENERATE("",
                                    "errand-prices 2 2026-08-21\n",
                                    "errand-prices 1\n",
                                    "errand-prices 1 2026-13-01\n",
                                    "hello\n");
  CHECK_FALSE(PriceTable::open(head, "prices.txt"));

  const auto* const line = GENERATE("model a =a in=1 out=2",
                                    "model a =a : in=1",
                                    "model a a : in=1 out=2",
                                    "model a /( : in=1 out=2",
                                    "model a ( =a : in=1 out=2",
                                    "model a =a ) : in=1 out=2",
                                    "model a =a : in=-1 out=2",
                                    "model a =a : in=1 out=2 more=3",
                                    "model a =a : in=1,x:2 out=2",
                                    "model a =a : from=soon in=1 out=2",
                                    "model a =a : at=1:00 in=1 out=2",
                                    "model : in=1 out=2");
  INFO(line);
  const std::string text =
      std::string("errand-prices 1 2026-08-21\nprovider p : https://p\n") + line + "\n";
  const auto broken =
      PriceTable::open(text, "prices.txt")->find({.provider = "p", .base_url = {}, .model = "a"});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == agent::Code::config_invalid);
  REQUIRE(broken.error().where);
  CHECK(broken.error().where->file == "prices.txt");
  CHECK(broken.error().where->line == 3);
}

TEST_CASE("price table: every line of the built-in one can be read", "[providers]") {
  const std::string_view text = providers::built_in_prices();
  const auto built_in = PriceTable::open(text, "built in");
  REQUIRE(built_in);
  const auto size = built_in->size();
  CHECK(size.providers > 30);
  CHECK(size.models > 1000);
  // Each provider as a table of its own, so that no other one stands before it.
  const std::string head(text.substr(0, text.find('\n') + 1));
  std::vector<std::pair<std::string, std::string>> tables;  // by the provider's id
  for (std::string_view rest = text.substr(head.size()); !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    INFO(line);
    std::string_view words = line;
    const auto kind = providers::take_word(words);
    REQUIRE((kind == "provider" || kind == "fallback" || kind == "model"));
    if (kind == "provider") {
      const auto colon = line.find(" : ");
      REQUIRE(colon != std::string_view::npos);
      const auto address = line.substr(colon + 3, line.size() - colon - 4);
      REQUIRE(RE2(providers::unescape_word(address), RE2::Quiet).ok());
      tables.emplace_back(providers::unescape_word(providers::take_word(words)), head);
    }
    if (kind == "model") {
      const auto colon = line.find(" : ");
      REQUIRE(colon != std::string_view::npos);
      std::string_view value = line.substr(colon + 3, line.size() - colon - 4);
      providers::take_window(value);
      REQUIRE(providers::parse_tariff(value));
      std::string_view match = line.substr(0, colon);
      providers::take_word(match);
      REQUIRE_FALSE(providers::take_word(match).empty());  // the id
      REQUIRE(providers::holds(match, "a name"));
    }
    REQUIRE_FALSE(tables.empty());
    tables.back().second += line;
  }
  CHECK(tables.size() == size.providers);
  std::size_t models = 0;
  for (const auto& [provider, lines] : tables) {
    INFO(provider);
    const auto table = PriceTable::open(lines, "built in").value();
    models += table.size().models;
    CHECK(table.find({.provider = provider, .base_url = {}, .model = "a name"}));
    CHECK(table.find({.provider = {}, .base_url = "an address", .model = "a name"}));
    CHECK(table.find({.provider = "a name", .base_url = {}, .model = "a name"}));
  }
  CHECK(models == size.models);
}

TEST_CASE("price table: an address is held against the whole pattern", "[providers]") {
  const auto [pattern, address, fits] = GENERATE(table<const char*, const char*, bool>({
      {R"(https://api\.acme\.com)", "https://api.acme.com/v1", true},
      {R"(https://api\.acme\.com)", "https://api.acme", false},
      {R"(https://api\.acme\.com)", "https://apixacme.com", false},
      {R"(https?://acme)", "http://acme", true},
      {R"(https?://acme)", "https://acme", true},
      {R"(https://a{0,1}cme)", "https://cme", true},
      {R"(https://a*cme)", "https://cme", true},
      {R"(https://a+cme)", "https://aacme", true},
      {R"(https://acme\d)", "https://acme7", true},
      {R"(https://acme$)", "https://acme/v1", false},
      {R"(https://acme|http://127)", "http://127.0.0.1", true},
      {R"(https://(acme|other)/x)", "https://other/x", true},
      {R"(https://(acme|other)/x)", "http://127.0.0.1", false},
      {R"(https://x\(|http://127)", "http://127.0.0.1", true},
      {R"(https://x[(]|http://127)", "http://127.0.0.1", true},
      {R"(https://x[^)(]|http://127)", "http://127.0.0.1", true},
      {R"(https://x[](]|http://127)", "http://127.0.0.1", true},
      {R"(https://x[\](]|http://127)", "http://127.0.0.1", true},
      {R"(https://x[[:alpha:](]|http://127)", "http://127.0.0.1", true},
      {R"((?i)https://ACME)", "https://acme", true},
      {R"(https://é?x)", "https://x", true},
  }));
  INFO(pattern << " and " << address);
  const std::string text = std::string("errand-prices 1 2026-08-21\nprovider p : ") + pattern +
                           "\nmodel a : in=1 out=2\n";
  const auto table = PriceTable::open(text, "prices.txt").value();
  const auto price = table.find({.provider = {}, .base_url = address, .model = "a"});
  REQUIRE(price);
  CHECK(price->has_value() == fits);
}

TEST_CASE("price table: the presets' models have built-in prices", "[providers]") {
  const auto built_in = PriceTable::open(providers::built_in_prices(), "built in").value();
  const auto* const name = GENERATE("anthropic/claude-sonnet-4-5",
                                    "openai/gpt-5-mini",
                                    "gemini/gemini-2.5-flash",
                                    "xai/grok-4",
                                    "openrouter/anthropic/claude-sonnet-4.5",
                                    "deepseek/deepseek-chat",
                                    "mistral/mistral-large-latest",
                                    "groq/llama-3.3-70b-versatile",
                                    "azure/gpt-4o",
                                    "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
                                    "perplexity/sonar");
  INFO(name);
  const std::string_view text = name;
  const auto slash = text.find('/');
  CHECK(
      built_in
          .find(
              {.provider = text.substr(0, slash), .base_url = {}, .model = text.substr(slash + 1)})
          .value());
}

TEST_CASE("price import: the upstream form becomes a table", "[providers]") {
  const auto text = providers::import_prices(R"([
    {"id": "acme", "name": "Acme", "api_pattern": "https://api\\.acme\\.com",
     "provider_match": {"or": [{"contains": "acme"}, {"equals": "a c"}]},
     "fallback_model_providers": ["other"],
     "models": [
       {"id": "same", "match": {"equals": "same"}, "prices": {"input_mtok": 0.18000000000000002, "output_mtok": 2}},
       {"id": "m", "match": {"or": [{"starts_with": "m"}, {"and": [{"contains": "x"}, {"ends_with": "y"}]}]},
        "prices": {"input_mtok": {"base": 1.25, "tiers": [{"start": 200000, "price": 2.5}]}, "output_mtok": 10,
                   "cache_read_mtok": 0.125, "cache_write_mtok": 1, "cache_write_1h_mtok": 2,
                   "output_reasoning_mtok": 3, "requests_kcount": 5, "web_searches_kcount": 10}},
       {"id": "picture", "match": {"equals": "picture"}, "prices": {"input_image_mtok": 1}},
       {"id": "dated", "match": {"regex": "^d\\d+$"}, "prices": [
         {"prices": {"input_mtok": 1, "output_mtok": 2}},
         {"constraint": {"start_date": "2026-03-13"}, "prices": {"input_mtok": 3, "output_mtok": 4}},
         {"constraint": {"start_time": "00:30:00Z", "end_time": "16:30:00Z"}, "prices": {"input_mtok": 5, "output_mtok": 6}}]}
     ]}])",
                                             "slim.json",
                                             *agent::parse_day("2026-11-21"));
  REQUIRE(text);
  CHECK(*text == R"(errand-prices 1 2026-11-21
provider acme ~acme =a%20c : https://api\.acme\.com
fallback other
model same : in=0.18 out=2
model m ^m &( ~x $y ) : in=1.25,200000:2.5 out=10 read=0.125 write=1 write1h=2 think=3 req=5
model dated /^d\d+$ : in=1 out=2 ; from=2026-03-13 in=3 out=4 ; at=00:30-16:30 in=5 out=6
)");
}

TEST_CASE("price import: a broken file is refused, with the place in words", "[providers]") {
  struct Row {
    const char* json;
    const char* says;
  };
  const auto row = GENERATE(values<Row>({
      {"", "is not JSON"},
      {"{}", "not a list of providers"},
      {"[]", "not a list of providers"},
      {R"([{"id": "a"}])", "`api_pattern`"},
      {R"([{"id": "a", "api_pattern": "("}])", "regular expression"},
      {R"([{"id": "a", "api_pattern": "x"}])", "`models`"},
      {R"([{"id": "a", "api_pattern": "x", "models": []}, {"id": "a", "api_pattern": "x", "models": []}])",
       "twice"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m"}]}])", "`match` or `prices`"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m", "match": {"like": "m"}, "prices": {}}]}])",
       "not a match rule"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m", "match": {"equals": ""}, "prices": {}}]}])",
       "not a match rule"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m", "match": {"regex": "("}, "prices": {}}]}])",
       "regular expression"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": "1"}}]}])",
       "not a price for `input_mtok`"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": -1}}]}])",
       "not a price for `input_mtok`"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m", "match": {"equals": "m"}, "prices": {"input_mtok": {"base": 1}}}]}])",
       "not a price for `input_mtok`"},
      {R"([{"id": "a", "api_pattern": "x", "models": [{"id": "m", "match": {"equals": "m"}, "prices": [{"constraint": {"weekday": 1}, "prices": {"input_mtok": 1, "output_mtok": 1}}]}]}])",
       "condition"},
  }));
  INFO(row.json);
  const auto text =
      providers::import_prices(row.json, "slim.json", *agent::parse_day("2026-11-21"));
  REQUIRE_FALSE(text);
  CHECK(text.error().code == agent::Code::config_invalid);
  CHECK_THAT(text.error().message, Catch::Contains(row.says));
  REQUIRE(text.error().where);
  CHECK(text.error().where->file == "slim.json");
}
