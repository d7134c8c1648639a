#include "agent/money.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <random>
#include <string>

using agent::Money;

TEST_CASE("money: decimal text is read exactly", "[agent]") {
  struct Row {
    const char* text;
    std::int64_t picos;
  };
  const auto row = GENERATE(values<Row>({
      {"0", 0},
      {"1.50", 1'500'000'000'000},
      {".5", 500'000'000'000},
      {"5.", 5'000'000'000'000},
      {"+2", 2'000'000'000'000},
      {"0.000000000001", 1},
      {"0.0000000000010", 1},
      {"1e-12", 1},
      {"12E-1", 1'200'000'000'000},
      {"1.5e3", 1'500'000'000'000'000},
      {"000000000000000000000000000001", 1'000'000'000'000},
      {"0e999", 0},
      {"9223372.036854775806", INT64_MAX - 1},
  }));
  INFO(row.text);
  REQUIRE(Money::parse(row.text));
  CHECK(Money::parse(row.text)->picos() == row.picos);
}

TEST_CASE("money: what is no amount is refused", "[agent]") {
  const auto* const text = GENERATE("",
                                    ".",
                                    "-1",
                                    "1,5",
                                    "1.5.",
                                    "$1",
                                    "1 ",
                                    " 1",
                                    "0x10",
                                    "inf",
                                    "nan",
                                    ".inf",
                                    "1e",
                                    "1e+",
                                    "1e+-5",
                                    "1e-+5",
                                    "1e99999999999",
                                    "e5",
                                    "0.0000000000001",
                                    "9223372.036854775807",
                                    "1e7");
  INFO(text);
  CHECK_FALSE(Money::parse(text));
}

TEST_CASE("money: what others calculated is rounded to the nearest pico-dollar", "[agent]") {
  CHECK(Money::parse_rounded("0.18000000000000002") == Money::parse("0.18"));
  CHECK(Money::parse_rounded("0.0000000000005") == Money::from_picos(1));
  CHECK(Money::parse_rounded("0.00000000000049") == Money{});
  CHECK(Money::parse_rounded("0.29999999999999999") == Money::parse("0.3"));
  CHECK(Money::parse_rounded("1e-400") == Money{});
}

TEST_CASE("money: adding is exact, and stops at the end of the range", "[agent]") {
  CHECK(*Money::parse("0.1") + *Money::parse("0.2") == *Money::parse("0.3"));
  CHECK((*Money::parse("0.1") + *Money::parse("0.2")).text() == "0.3");
  CHECK(Money::max() + Money::from_picos(1) == Money::max());
  CHECK(Money::max() + Money::max() == Money::max());
  CHECK(Money::from_picos(1) - Money::from_picos(2) == Money{});
}

TEST_CASE("money: text has all digits and no more", "[agent]") {
  CHECK(Money{}.text() == "0");
  CHECK(Money::from_picos(1).text() == "0.000000000001");
  CHECK(Money::parse("12.340")->text() == "12.34");
  CHECK(Money::parse("100")->text() == "100");
}

TEST_CASE("money: people see cents and more where there is more, never too little", "[agent]") {
  CHECK(agent::format_money(Money{}) == "$0.00");
  CHECK(agent::format_money(Money::parse("1.5")) == "$1.50");
  CHECK(agent::format_money(Money::parse("0.0042")) == "$0.0042");
  CHECK(agent::format_money(Money::from_picos(1)) == "$0.000001");
  CHECK(agent::format_money(Money::parse("0.999999000001")) == "$1.00");
  CHECK(agent::format_money(Money::max()) == "$9223372.036855");
  CHECK(agent::format_money(std::nullopt) == "unknown");
}

TEST_CASE("money: through JSON below a thousand dollars, every pico-dollar comes back", "[agent]") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const auto size = random() % 50;
    const auto picos = static_cast<std::int64_t>((random() >> (63 - size)) % 1'000'000'000'000'000);
    const auto amount = Money::from_picos(picos);
    const auto json = agent::parse_json(agent::dump(agent::to_json(amount)));
    REQUIRE(json);
    REQUIRE(Money::from_json(*json) == amount);
  }
  CHECK(agent::dump(agent::to_json(*Money::parse("0.3"))) == "0.3");
  CHECK(agent::dump(agent::to_json(*Money::parse("3"))) == "3");
  CHECK(agent::to_json(std::optional<Money>{}).is_null());
  CHECK_FALSE(Money::from_json(agent::Json("0.3")));
  CHECK_FALSE(Money::from_json(agent::Json(-0.5)));
  CHECK_FALSE(Money::from_json(agent::Json(-1)));

  const agent::Json object = {{"a", 0.5}, {"b", nullptr}, {"c", "1"}};
  CHECK(agent::money_at(object, "a") == Money::parse("0.5"));
  CHECK_FALSE(agent::money_at(object, "b"));
  CHECK_FALSE(agent::money_at(object, "c"));
  CHECK_FALSE(agent::money_at(object, "d"));
  CHECK_FALSE(agent::money_at(agent::Json(0.5), "a"));
}
