#include "agent/refusal.h"

#include "agent/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>

TEST_CASE("refusal: where bytes stop being text", "[agent]") {
  CHECK(agent::why_not_text("") == std::nullopt);
  CHECK(agent::why_not_text("gr\xC3\xBC\xC3\x9F dich \xF0\x9F\x99\x82") == std::nullopt);
  CHECK(agent::why_not_text("hi \xFF") == "byte 4 (0xFF) is not UTF-8");
  CHECK(agent::why_not_text("\xC3") == "byte 1 (0xC3) is not UTF-8");
  CHECK(agent::why_not_text("\xC0\xAF") == "byte 1 (0xC0) is not UTF-8");
  CHECK(agent::why_not_text(std::string("a\0b\xFF", 4)) == "byte 2 is NUL");
}

TEST_CASE("refusal: what correct JSON is over is said", "[agent]") {
  const std::string deep = std::string(201, '[') + std::string(201, ']');
  CHECK_FALSE(agent::parse_json(deep));
  CHECK(agent::why_not_json(deep) == "nests deeper than 200 levels");
  const std::string deep_and_large = std::string(201, '[') + "1e999" + std::string(201, ']');
  CHECK_FALSE(agent::parse_json(deep_and_large));
  CHECK(agent::why_not_json(deep_and_large) == "nests deeper than 200 levels");
  const std::string half(1'000'000, '[');  // what looks for the reason may not recurse either
  CHECK(agent::why_not_json(half) == "is not valid JSON");
  CHECK(agent::why_not_json(half + std::string(half.size(), ']')) ==
        "nests deeper than 200 levels");
  std::string many = "[0";
  for (std::size_t more = 2; more < agent::k_most_json_values; ++more) {
    many += ",0";
  }
  CHECK(agent::parse_json(many + "]"));
  CHECK_FALSE(agent::parse_json(many + ",0]"));
  CHECK(agent::why_not_json(many + ",0]") == "has more than 4000000 values");
  CHECK_FALSE(agent::parse_json("[1,"));
  CHECK(agent::why_not_json("[1,") == "is not valid JSON");
}
