#include "agent/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>

TEST_CASE("json: depth is bounded before the parser recurses", "[agent]") {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK(agent::parse_json(nested(200)));
  CHECK_FALSE(agent::parse_json(nested(201)));
  CHECK_FALSE(agent::parse_json(nested(1'000'000)));
  CHECK(agent::parse_json("\"" + std::string(1000, '[') + "\""));
}

TEST_CASE("json: what is not one whole value is nothing", "[agent]") {
  const char* text = GENERATE("", "{", "{} {}", "nope", "{\"a\":1,}", "\"\xff\"");
  INFO(text);
  CHECK_FALSE(agent::parse_json(text));
}

TEST_CASE("json: invalid UTF-8 is replaced when written, key order is kept", "[agent]") {
  agent::Json json;
  json["z"] = "a\xff";
  json["a"] = 1;
  CHECK(agent::dump(json) == "{\"z\":\"a\xEF\xBF\xBD\",\"a\":1}");
}

TEST_CASE("json: reads cannot fail, they fall back", "[agent]") {
  const agent::Json json = *agent::parse_json(R"({"n":null,"s":"x","i":3,"b":true,"f":2.5})");
  CHECK(agent::find(json, "n") == nullptr);
  CHECK(agent::text_at(json, "s") == "x");
  CHECK(agent::text_at(json, "i", "no") == "no");
  CHECK(agent::integer_at(json, "i") == 3);
  CHECK(agent::integer_at(json, "f") == 2);
  CHECK(agent::real_at(json, "i") == 3);
  CHECK(agent::real_at(json, "f") == 2.5);
  CHECK(agent::real_at(json, "s", 9) == 9);
  CHECK(agent::bool_at(json, "b"));
  CHECK(agent::integer_at(agent::Json("text"), "i", 9) == 9);
  CHECK(agent::number_json(3.0).dump() == "3");
  CHECK(agent::number_json(0.5).dump() == "0.5");
}
