#include "agent/flow/value_type.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace {

using agent::Json;
using agent::flow::Expression;
using agent::flow::Path;
using agent::flow::type_of;
using agent::flow::type_of_schema;
using agent::flow::ValueType;

ValueType named(const Path& path) {
  if (path.name == "count") {
    return {.kinds = ValueType::k_number};
  }
  if (path.name == "word") {
    return {.kinds = ValueType::k_text};
  }
  if (path.name == "list") {
    return {.kinds = ValueType::k_list};
  }
  if (path.name == "well") {
    return {.kinds = ValueType::k_number, .values = std::vector{Json(0)}};
  }
  if (path.name == "state") {
    return {.kinds = ValueType::k_text, .values = std::vector{Json("done"), Json("open")}};
  }
  return {};
}

// "never", "always", what else it is in words, or the mistake.
std::string said_of(std::string_view text) {
  const auto expression = Expression::parse(text);
  REQUIRE(expression);
  const auto type = type_of(*expression, named);
  return !type                  ? type.error()
         : type->is_only(false) ? "never"
         : type->is_only(true)  ? "always"
                                : type->words();
}

}  // namespace

TEST_CASE("value type: a number that no double holds is one") {
  CHECK(agent::flow::type_of_value(*agent::parse_json("1e400")).words() == "a number");
}

TEST_CASE("value type: numbers are compared by their digits") {
  CHECK(said_of("9007199254740993 == 9007199254740992.0") == "never");
  CHECK(said_of("1.0 == 1") == "always");
}

TEST_CASE("value type: comparisons of what cannot be compared are mistakes") {
  CHECK(said_of("list > 3") ==
        "`list` is a list, and `3` is a number: only numbers or texts are less or greater");
  CHECK(said_of("count < word") ==
        "`count` is a number, and `word` is a text: only numbers or texts are less or greater");
  CHECK(said_of("count == 'three'") ==
        "`count` is a number, and `\"three\"` is a text: they are never equal");
  CHECK(said_of("(count == 3) != 1") ==
        "what stands in parentheses is true or false, and `1` is a number: they are never equal");
  CHECK(said_of("not word") == "`word` is a text, not true or false");
  CHECK(said_of("anything and list") == "`list` is a list, not true or false");
  CHECK(said_of("count == null") == "true or false");
}

TEST_CASE("value type: what decides itself") {
  CHECK(said_of("well != 0") == "never");
  CHECK(said_of("well == 0") == "always");
  CHECK(said_of("state == 'closed'") == "never");
  CHECK(said_of("state != 'closed'") == "always");
  CHECK(said_of("state == 'open'") == "true or false");
  CHECK(said_of("well != 0 or state == 'closed'") == "never");
  CHECK(said_of("well != 0 or anything") == "true or false");
  CHECK(said_of("anything and well != 0") == "never");
  CHECK(said_of("anything or well == 0") == "always");
  CHECK(said_of("not (well == 0)") == "never");
  CHECK(said_of("not (well != 0)") == "always");
  CHECK(said_of("false") == "never");
  CHECK(said_of("'a' < 'b'") == "always");
  CHECK(said_of("well > 0") == "never");
  CHECK(said_of("well >= 0") == "always");
  CHECK(said_of("0 < well") == "never");
  CHECK(said_of("state > 'open'") == "never");
  CHECK(said_of("state >= 'open'") == "true or false");
  CHECK(said_of("count > 3") == "true or false");
}

TEST_CASE("value type: of a path alone") {
  CHECK(said_of("count") == "a number");
  CHECK(said_of("anything") == "null or true or false or a number or a text or a list or a map");
}

TEST_CASE("value type: of a schema") {
  const auto words = [](const char* schema) { return type_of_schema(Json::parse(schema)).words(); };
  CHECK(words(R"({"type": "integer"})") == "a number");
  CHECK(words(R"({"type": ["string", "null"]})") == "null or a text");
  CHECK(words(R"({"enum": ["a", 1, null]})") == "null or a number or a text");
  CHECK(words(R"({"const": []})") == "a list");
  CHECK(type_of_schema(Json::parse(R"({"anyOf": [{"type": "string"}]})")).kinds ==
        ValueType::k_any);
  CHECK(type_of_schema(Json(true)).kinds == ValueType::k_any);
}
