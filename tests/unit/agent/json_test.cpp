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

TEST_CASE("json: the last of two equal keys counts, in the first one's place", "[agent]") {
  CHECK(agent::parse_json(R"({"a":1,"b":2,"a":{"c":[]}})")->dump() == R"({"a":{"c":[]},"b":2})");
  for (const int others :
       {14, 15, 16, 17, 40}) {  // few keys are looked through, many have an index
    std::string text = R"({"a":1)";
    for (int other = 0; other < others; ++other) {
      text += ",\"k" + std::to_string(other) + "\":0";
    }
    const auto json = agent::parse_json(text + R"(,"k3":3,"a":2,"z":0})");
    INFO(others);
    REQUIRE(json);
    CHECK(json->size() == static_cast<std::size_t>(others) + 2);
    CHECK(json->begin().value() == 2);
    CHECK((*json)["k3"] == 3);
  }
}

TEST_CASE("json: what is read is what nlohmann's own reader makes of it", "[agent]") {
  const char* text = GENERATE("null",
                              "[]",
                              "{}",
                              "-0",
                              "18446744073709551615",
                              "-9223372036854775808",
                              "[1,[2,{\"a\":[]}],3.5,1e3]",
                              "{\"a\":{\"b\":{},\"c\":[{}]},\"d\":null}",
                              "[[[]],{\"\":\"\\u00e9\\ud83d\\ude00\"}]");
  const auto expected = agent::Json::parse(text);
  const auto json = agent::parse_json(text);
  INFO(text);
  REQUIRE(json);
  CHECK(*json == expected);
  CHECK(json->type() == expected.type());
  CHECK(json->dump() == expected.dump());
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
