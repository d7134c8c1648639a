#include "config/pass_rule.h"

#include <catch2/catch.hpp>

#include <string>

using config::PassRule;

TEST_CASE("pass rule: all, any, or a share in percent", "[config]") {
  for (const char* text : {"all", "any", "1%", "80%", "99%"}) {
    const auto rule = PassRule::parse(text);
    REQUIRE(rule);
    CHECK(rule->text() == text);
  }
  CHECK(PassRule::parse("100%") == PassRule());
  for (const char* text :
       {"", "%", "0%", "08%", "101%", "80", "8.5%", "-1%", "80 %", "none", "1000%"}) {
    INFO(text);
    CHECK_FALSE(PassRule::parse(text));
  }
}

TEST_CASE("pass rule: a share is rounded up to whole runs", "[config]") {
  CHECK(PassRule().needed(5) == 5);
  CHECK(PassRule::parse("any")->needed(5) == 1);
  CHECK(PassRule::parse("80%")->needed(5) == 4);
  CHECK(PassRule::parse("81%")->needed(5) == 5);
  CHECK(PassRule::parse("50%")->needed(3) == 2);
  CHECK(PassRule::parse("1%")->needed(3) == 1);
  CHECK(PassRule::parse("99%")->needed(1'000) == 990);
}
