#include "agent/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <string>

TEST_CASE("json: depth is bounded before the parser recurses", "[agent]") {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK(agent::parse_json(nested(200)));
  CHECK_FALSE(agent::parse_json(std::string_view("{}\0{}", 5)));
  CHECK_FALSE(agent::parse_json(std::string_view("{}\0", 3)));
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
                              "0",
                              "18446744073709551615",
                              "-9223372036854775808",
                              "[1,[2,{\"a\":[]}],3.5,1000.0]",
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

TEST_CASE("json: numbers pass as they are written", "[agent]") {
  const std::string text =
      GENERATE(as<std::string>(),
               "-0",
               "-0.0",
               "0e0",
               "1",
               "1.0",
               "1.50",
               "1e2",
               "1E+02",
               "1e400",
               "-1e400",
               "1e-400",
               "18446744073709551615",
               "18446744073709551617",
               "-9223372036854775809",
               "0.1",
               "0.1000000000000000055511151231257827",
               "123456789012345678901234567890.5",
               "1e99999999999999999999",
               R"({"a":[-0,{"b":1e400}],"c":"1e400 \" 1e400","d":[-0E1,1e999,-0E0]})",
               R"([1e400,"\\",1e401,true,-0,{"1e402":1e403}])");
  INFO(text);
  const auto json = agent::parse_json(text);
  REQUIRE(json);
  CHECK(agent::dump(*json) == text);
  CHECK(agent::parse_json(agent::dump(*json)) == json);
}

TEST_CASE("json: no number is taken that JSON does not have", "[agent]") {
  const std::string number = GENERATE(as<std::string>(),
                                      "01",
                                      "-01",
                                      ".5",
                                      "1.",
                                      "+1",
                                      "1e",
                                      "-",
                                      "0x1",
                                      "1e400e5",
                                      "1e400.5",
                                      "NaN",
                                      "Infinity");
  INFO(number);
  CHECK_FALSE(agent::parse_json(number));
  CHECK_FALSE(agent::parse_json("[1e400," + number + "]"));
}

TEST_CASE("json: numbers that are kept by their text are read as others are", "[agent]") {
  struct Row {
    std::string text;
    double real;
    std::optional<long long> integer;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const auto row = GENERATE_COPY(values<Row>({
      {"-0", 0, 0},
      {"1e2", 100, 100},
      {"1.50", 1.5, 1},
      {"-2.750", -2.75, -2},
      {"1e400", infinity, std::nullopt},
      {"-1e400", -infinity, std::nullopt},
      {"1e-400", 0, 0},
      {"18446744073709551617", 18446744073709551616.0, std::nullopt},
      {"18446744073709551615", 18446744073709551616.0, std::nullopt},
      {"9223372036854775807", 9223372036854775808.0, 9223372036854775807},
  }));
  INFO(row.text);
  const auto number = agent::parse_json(row.text);
  REQUIRE(number);
  CHECK(agent::is_number(*number));
  CHECK(agent::numeral(*number) == row.text);
  CHECK(agent::real_of(*number) == row.real);
  CHECK(agent::integer_of(*number) == row.integer);
  const auto object = agent::parse_json("{\"n\":" + row.text + "}");
  REQUIRE(object);
  CHECK(agent::real_at(*object, "n") == row.real);
  CHECK(agent::integer_at(*object, "n", -7) == row.integer.value_or(-7));
  CHECK_FALSE(agent::is_number(agent::Json(row.text)));
}

TEST_CASE("json: numbers are compared by their digits", "[agent]") {
  const auto [left, order, right] = GENERATE(table<std::string, int, std::string>({
      {"9007199254740993", 1, "9007199254740992"},
      {"-9007199254740993", -1, "-9007199254740992"},
      {"9007199254740993.0", 1, "9007199254740992"},
      {"1", 0, "1.0"},
      {"100", 0, "1e2"},
      {"1.50", 0, "15E-1"},
      {"0.001", 0, "1e-3"},
      {"-0", 0, "0.000"},
      {"0e400", 0, "0"},
      {"-1", -1, "0"},
      {"0", -1, "1e-400"},
      {"2", -1, "10"},
      {"-2", 1, "-10"},
      {"1e400", -1, "1e401"},
      {"1e400", 1, "9e399"},
      {"12", -1, "123"},
      {"0.1", -1, "0.10000000000000001"},
      {"18446744073709551617", 1, "18446744073709551616"},
      {"1e99999999999999999999", 1, "1e-99999999999999999999"},
  }));
  CAPTURE(left, order, right);
  const auto one = agent::parse_json(left);
  const auto other = agent::parse_json(right);
  REQUIRE(one);
  REQUIRE(other);
  CHECK(agent::compare_numbers(*one, *other) == order <=> 0);
  CHECK(agent::compare_numbers(*other, *one) == 0 <=> order);
  CHECK(agent::is_same_value(*one, *other) == (order == 0));
}

TEST_CASE("json: the same value is one whatever the order of keys and the way of its numbers",
          "[agent]") {
  const auto is_same = [](std::string_view one, std::string_view other) {
    return agent::is_same_value(*agent::parse_json(one), *agent::parse_json(other));
  };
  CHECK(is_same(R"({"a": [1, {"b": 2.0}], "c": "x"})", R"({"c": "x", "a": [1.0, {"b": 2}]})"));
  CHECK_FALSE(is_same("[9007199254740993]", "[9007199254740992]"));
  CHECK_FALSE(is_same(R"({"a": 1})", R"({"b": 1})"));
  CHECK_FALSE(is_same(R"({"a": 1})", R"({"a": 1, "b": 1})"));
  CHECK_FALSE(is_same("[1]", "[1, 1]"));
  CHECK_FALSE(is_same("1", R"("1")"));
  CHECK_FALSE(is_same("[]", "{}"));
}

TEST_CASE("json: many numbers beyond all doubles cost no more than others", "[agent]") {
  std::string text = "[0";
  for (int count = 0; count < 200'000; ++count) {
    text += ",1e400";
  }
  text += "," + std::string(1'000'000, '9') + "]";
  const auto json = agent::parse_json(text);
  REQUIRE(json);
  CHECK(agent::dump(*json) == text);
}

TEST_CASE("json: a name that stands twice in one object is told", "[agent]") {
  struct Row {
    std::string text;
    std::optional<std::string> repeated;
    std::string value;
  };
  std::string many = "{";
  for (int key = 0; key < 100; ++key) {
    many += "\"k" + std::to_string(key) + "\":1,";
  }
  for (const Row& row : std::initializer_list<Row>{
           {R"({"a":1,"b":{"a":2}})", std::nullopt, R"({"a":1,"b":{"a":2}})"},
           {R"({"a":1,"b":2,"a":3})", "a", R"({"a":3,"b":2})"},
           {R"([{"x":{"a":1,"\u0061":2}}])", "a", R"([{"x":{"a":2}}])"},
           {R"({"a":1e400,"a":2})", "a", R"({"a":2})"},
           {many + R"("k70":2})", "k70", {}},
           {many + R"("k100":2})", std::nullopt, {}}}) {
    CAPTURE(row.text);
    std::optional<std::string> repeated = "before";
    const auto json = agent::parse_json(row.text, repeated);
    REQUIRE(json);
    CHECK(repeated == row.repeated);
    CHECK((row.value.empty() || agent::dump(*json) == row.value));
  }
}

TEST_CASE("json: a name with two values in one object is told", "[agent]") {
  struct Row {
    std::string text;
    std::optional<std::string> contradiction;
  };
  for (const Row& row : std::initializer_list<Row>{{R"({"a":1,"b":{"a":2}})", std::nullopt},
                                                   {R"({"a":1,"a":1})", std::nullopt},
                                                   {R"({"a":"x","a":"x","b":0,"b":1})", "b"},
                                                   {R"([{"a":1},{"b":null,"b":"x"}])", "b"},
                                                   {R"({"a":{},"a":{}})", "a"},
                                                   {R"({"a":{"b":1},"a":2})", "a"},
                                                   {R"({"a":[1],"a":[1]})", "a"}}) {
    CAPTURE(row.text);
    agent::RepeatedNames repeated{.first = "before", .contradiction = "before"};
    CHECK(agent::parse_json(row.text, repeated));
    CHECK(repeated.contradiction == row.contradiction);
  }
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
