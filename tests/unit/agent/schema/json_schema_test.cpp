#include "agent/schema/json_schema.h"

#include "tests/support/skip.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace {

using agent::Json;
using agent::JsonSchema;

Json json(const std::string& text) {
  auto value = agent::parse_json(text);
  INFO(text);
  REQUIRE(value);
  return *value;
}

JsonSchema schema(const std::string& text) {
  auto made = JsonSchema::compile(json(text));
  INFO(text);
  if (!made) {
    FAIL(made.error().message);
  }
  return std::move(*made);
}

// "pointer message" of each violation, one a line.
std::string complaints(const JsonSchema& schema, const Json& value) {
  std::string out;
  for (const auto& violation : schema.check(value)) {
    out += (out.empty() ? "" : "\n") + violation.pointer + " " + violation.message;
  }
  return out;
}

std::string error_of(const Json& schema) {
  const auto made = JsonSchema::compile(schema);
  if (made) {
    return "";
  }
  CHECK(made.error().code == agent::Code::config_invalid);
  return made.error().message;
}

// What is left out of the suite: schemas that refer to another document. Such a one is refused
// when it is compiled, which is tested below.
const std::set<std::string> k_left_out = {
    "definitions: invalid definition",  // both refer to the draft's own schema
    "definitions: valid definition",
    "ref: remote ref, containing refs itself",
    "refRemote: base URI change",
    "refRemote: base URI change - change folder",
    "refRemote: base URI change - change folder in subschema",
    "refRemote: fragment within remote ref",
    "refRemote: ref within remote ref",
    "refRemote: remote ref",
    "refRemote: root ref in remote ref",
};

}  // namespace

TEST_CASE("json schema: the standard's own test suite for draft 7", "[agent]") {
  const std::filesystem::path folder = "/usr/share/json-schema-test-suite/tests/draft7";
  if (!std::filesystem::is_directory(folder)) {
    tests::skip("json-schema-test-suite is not installed");
  }
  int judged = 0;
  std::set<std::string> left_out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    std::ifstream file(entry.path());
    const Json groups = json({std::istreambuf_iterator<char>(file), {}});
    for (const Json& group : groups) {
      const std::string name =
          entry.path().stem().string() + ": " + group["description"].get<std::string>();
      if (k_left_out.contains(name)) {
        left_out.insert(name);
        CHECK_THAT(error_of(group["schema"]), Catch::EndsWith("it is never fetched"));
        continue;
      }
      const auto made = JsonSchema::compile(group["schema"]);
      INFO(name);
      CHECK((made ? "" : made.error().message) == "");
      for (const Json& test : group["tests"]) {
        if (made) {
          INFO(test["description"] << "  " << test["data"] << "  " << group["schema"]);
          CHECK(made->check(test["data"]).empty() == test["valid"].get<bool>());
          ++judged;
        }
      }
    }
  }
  CHECK(left_out == k_left_out);
  CHECK(judged > 350);
}

TEST_CASE("json schema: what is wrong is said so that a model can mend it", "[agent]") {
  const auto [text, value, expected] = GENERATE(table<std::string, std::string, std::string>({
      {R"({"type":"integer"})", R"("5")", " must be an integer, is a string"},
      {R"({"type":"integer"})", "1.0", ""},
      {R"({"type":"integer"})", "1.5", " must be an integer, is a number"},
      {R"({"type":["string","null"]})", "5", " must be a string or null, is an integer"},
      {R"({"items":{"type":"boolean"}})", "[true,1]", "/1 must be a boolean, is an integer"},
      {R"({"properties":{"a/b":{"minLength":2}}})",
       R"({"a/b":"ü"})",
       "/a~1b must have at least 2 characters, has 1"},
      {R"({"enum":["on","off",3]})", R"("up")", R"( must be one of "on", "off", 3, is "up")"},
      {R"({"const":3})", "4", " must be 3, is 4"},
      {R"({"minimum":1})", "0", " must be at least 1, is 0"},
      {R"({"exclusiveMaximum":1.5})", "1.5", " must be less than 1.5, is 1.5"},
      {R"({"multipleOf":0.1})", "0.25", " must be a multiple of 0.1, is 0.25"},
      {R"({"pattern":"^[a-z]+$"})", R"("A1")", R"( must match the pattern ^[a-z]+$, is "A1")"},
      {R"({"minItems":2})", "[1]", " must have at least 2 items, has 1"},
      {R"({"maxProperties":1})", R"({"a":1,"b":2})", " must have at most 1 property, has 2"},
      {R"({"uniqueItems":true})",
       "[1,2,1.0]",
       " must not have duplicate items: items 0 and 2 are equal"},
      {R"({"required":["path","limit"]})", R"({"limit":1})", " must have the property `path`"},
      {R"({"properties":{"path":true,"offset":true},"additionalProperties":false})",
       R"({"path":1,"ofset":2})",
       "/ofset is not a known property; did you mean `offset`?"},
      {R"({"properties":{"path":true,"offset":true},"additionalProperties":false})",
       R"({"zzz":2})",
       "/zzz is not a known property; known: offset, path"},
      {R"({"propertyNames":{"maxLength":2}})",
       R"({"abc":1})",
       " has a property `abc` whose name must have at most 2 characters, has 3"},
      {R"({"dependencies":{"a":["b"]}})",
       R"({"a":1})",
       " must have the property `b`, because it has `a`"},
      {R"({"dependentRequired":{"a":["b"]}})",
       R"({"a":1})",
       " must have the property `b`, because it has `a`"},
      {R"({"contains":{"const":1}})",
       "[2]",
       R"( must hold at least 1 item that matches {"const":1}, holds 0)"},
      {R"({"not":{"type":"string"}})", R"("x")", R"( must not match {"type":"string"})"},
      {R"({"anyOf":[{"type":"string"},{"type":"null"}]})",
       "1",
       " must be a string or null, is an integer"},
      {R"({"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]})",
       "{}",
       " must have the property `a`"},
      {R"({"oneOf":[{"required":["a"]},{"required":["b"]}]})",
       "{}",
       " matches none of the 2 allowed forms: must have the property `a`; or must have the "
       "property `b`"},
      {R"({"oneOf":[{"minimum":1},{"minimum":2}]})",
       "3",
       " matches 2 of the 2 allowed forms, must match just one"},
      {R"({"properties":{"a":false}})", R"({"a":1})", "/a is not allowed here"},
      {R"({"type":"string","enum":["a"]})", "1", " must be a string, is an integer"},
      {R"({"required":["a"],"properties":{"b":{"type":"null"}}})",
       R"({"b":1})",
       " must have the property `a`\n/b must be null, is an integer"},
  }));
  INFO(text << "  " << value);
  CHECK(complaints(schema(text), json(value)) == expected);
}

TEST_CASE("json schema: a wrong type alone is told apart", "[agent]") {
  const auto is_type = [](const std::string& text, const std::string& value) {
    const auto violations = schema(text).check(json(value));
    REQUIRE(violations.size() == 1);
    return violations[0].is_type;
  };
  CHECK(is_type(R"({"type":"integer"})", R"("5")"));
  CHECK(is_type(R"({"properties":{"a":{"type":"array"}}})", R"({"a":"[1]"})"));
  CHECK(is_type(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1"));
  CHECK_FALSE(is_type(R"({"minimum":5})", "1"));
  CHECK_FALSE(is_type(R"({"required":["a"]})", "{}"));
  CHECK_FALSE(is_type("false", "{}"));
}

TEST_CASE("json schema: at most 20 violations, however many there are", "[agent]") {
  Json value = Json::array();
  for (int count = 0; count < 1'000; ++count) {
    value.push_back(count);
  }
  CHECK(schema(R"({"items":{"type":"string"}})").check(value).size() == 20);
}

TEST_CASE("json schema: newer words that tools use are understood", "[agent]") {
  const auto [text, value, valid] = GENERATE(table<std::string, std::string, bool>({
      {R"({"prefixItems":[{"type":"string"}],"items":{"type":"integer"}})", R"(["a",1])", true},
      {R"({"prefixItems":[{"type":"string"}],"items":{"type":"integer"}})", R"(["a","b"])", false},
      {R"({"prefixItems":[{"type":"string"}],"items":false})", R"(["a","b"])", false},
      {R"({"contains":{"const":1},"minContains":2})", "[1,1]", true},
      {R"({"contains":{"const":1},"minContains":2})", "[1]", false},
      {R"({"contains":{"const":1},"minContains":0})", "[]", true},
      {R"({"contains":{"const":1},"maxContains":1})", "[1,1]", false},
      {R"({"dependentSchemas":{"a":{"required":["b"]}}})", R"({"a":1})", false},
      {R"({"$defs":{"p":{"$anchor":"pos","minimum":1}},"$ref":"#pos"})", "0", false},
      {R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"p":{"minimum":1}},
           "properties":{"a":{"$ref":"#/$defs/p","maximum":5}}})",
       R"({"a":6})",
       false},
      {R"({"$defs":{"p":{"minimum":1}},"properties":{"a":{"$ref":"#/$defs/p","maximum":5}}})",
       R"({"a":6})",
       true},  // draft 7: what stands beside $ref is ignored
      {R"({"x-order":3,"title":"t","description":"d","default":1,"examples":[1],"format":"email",
           "readOnly":true,"deprecated":true,"$comment":"c","nullable":true,"strange":{}})",
       "3",
       true},
      {R"({"type":"string","pattern":"^\\u00e9(?<year>\\d{4})$"})", R"("é2026")", true},
  }));
  INFO(text << "  " << value);
  CHECK(schema(text).check(json(value)).empty() == valid);
}

TEST_CASE("json schema: what stands under then and else without if can be referred to", "[agent]") {
  const char* keyword = GENERATE("then", "else");
  const JsonSchema all_of = schema(fmt::format(
      R"({{"{}":{{"$id":"http://x.example/y","type":"integer"}},"allOf":[{{"$ref":"http://x.example/y"}}]}})",
      keyword));
  CHECK(all_of.check(json("1")).empty());
  CHECK_FALSE(all_of.check(json("\"1\"")).empty());
}

TEST_CASE("json schema: numbers are compared exactly", "[agent]") {
  const auto [text, value, valid] = GENERATE(table<std::string, std::string, bool>({
      {R"({"maximum":9007199254740992})", "9007199254740993", false},
      {R"({"const":18446744073709551615})", "18446744073709551615", true},
      {R"({"const":18446744073709551615})", "18446744073709551614", false},
      {R"({"const":-1})", "18446744073709551615", false},
      {R"({"minimum":0})", "18446744073709551615", true},
      {R"({"multipleOf":3})", "9007199254740993", true},
      {R"({"multipleOf":0.01})", "19.99", true},
      {R"({"multipleOf":0.01})", "19.999", false},
      {R"({"enum":[1]})", "1.0", true},
      {R"({"multipleOf":1e-8})", "1e-8", true},
      {R"({"multipleOf":1e-8})", "0.12345678", true},
      {R"({"multipleOf":1e-8})", "0.123456789", false},
      {R"({"multipleOf":1e-8})", "123456789.00000001", true},
      {R"({"multipleOf":1e-8})", "12391239123", true},
      {R"({"multipleOf":1e-8})", "1e-9", false},
      {R"({"multipleOf":1e-8})", "0", true},
      {R"({"multipleOf":1e-8})", "-0", true},
      {R"({"multipleOf":0.0001})", "0.0075", true},
      {R"({"multipleOf":0.0001})", "0.00751", false},
      {R"({"multipleOf":0.0001})", "-0.0075", true},
      {R"({"multipleOf":0.5})", "1e308", true},
      {R"({"multipleOf":0.123456789})", "1e308", false},
      {R"({"multipleOf":7})", "1e400", false},
      {R"({"multipleOf":4})", "1e400", true},
      {R"({"multipleOf":3})", "18446744073709551618", true},
      {R"({"multipleOf":3})", "18446744073709551617", false},
      {R"({"maximum":18446744073709551616})", "18446744073709551617", false},
      {R"({"maximum":18446744073709551617})", "18446744073709551617", true},
      {R"({"exclusiveMaximum":18446744073709551617})", "18446744073709551617", false},
      {R"({"maximum":1e400})", "1e399", true},
      {R"({"maximum":1e400})", "1e401", false},
      {R"({"minimum":-1e400})", "-1e401", false},
      {R"({"minimum":-3})", "-2", true},
      {R"({"minimum":-3})", "-4", false},
      {R"({"minimum":0.1})", "0.1000000000000000055511151231257827", true},
      {R"({"maximum":0.1})", "0.1000000000000000055511151231257827", false},
      {R"({"const":0.1})", "0.1000000000000000055511151231257827", false},
      {R"({"const":100})", "1e2", true},
      {R"({"const":0})", "-0", true},
      {R"({"const":1e400})", "10e399", true},
      {R"({"type":"integer"})", "18446744073709551617", true},
      {R"({"type":"integer"})", "1e400", true},
      {R"({"type":"integer"})", "1.5e1", true},
      {R"({"type":"integer"})", "1e-400", false},
      {R"({"type":"number"})", "1e-400", true},
      {R"({"type":"string"})", "1e400", false},
      {R"({"uniqueItems":true})", "[100,1e2]", false},
      {R"({"uniqueItems":true})", "[1e400,1e401]", true},
      {R"({"minLength":1e0})", R"("")", false},
      {R"({"enum":[[{"a":1,"b":2}]]})", R"([{"b":2.0,"a":1}])", true},
      {R"({"enum":[true]})", "1", false},
  }));
  INFO(text << "  " << value);
  CHECK(schema(text).check(json(value)).empty() == valid);
}

TEST_CASE("json schema: a wrong schema is refused with its place", "[agent]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"5", "the JSON Schema is wrong at `/`: a schema is an object or a boolean, not an integer"},
      {R"({"properties":{"a":{"type":"int"}}})",
       "the JSON Schema is wrong at `/properties/a/type`: \"int\" is not a type"},
      {R"({"type":[]})", "the JSON Schema is wrong at `/type`: names no type"},
      {R"({"items":[true,3]})",
       "the JSON Schema is wrong at `/items/1`: a schema is an object or a boolean, not an "
       "integer"},
      {R"({"required":true})",
       "the JSON Schema is wrong at `/required`: must be an array of property names"},
      {R"({"minLength":-1})",
       "the JSON Schema is wrong at `/minLength`: must be a whole number of at least 0"},
      {R"({"minimum":1,"exclusiveMinimum":true})",
       "the JSON Schema is wrong at `/exclusiveMinimum`: must be a number"},
      {R"({"multipleOf":0})",
       "the JSON Schema is wrong at `/multipleOf`: must be a number above 0"},
      {R"({"anyOf":[]})", "the JSON Schema is wrong at `/anyOf`: must hold at least one schema"},
      {R"~({"pattern":"(?=x)"})~",
       "the JSON Schema is wrong at `/pattern`: the pattern `(?=x)` is not understood (invalid "
       "perl operator: (?=)"},
      {R"({"patternProperties":{"(":true}})",
       "the JSON Schema is wrong at `/patternProperties/(`: the pattern `(` is not understood "
       "(missing ): ()"},
      {R"({"$ref":"#/definitions/none"})",
       "the JSON Schema is wrong at `/$ref`: there is nothing at `#/definitions/none`"},
      {R"({"items":{"$ref":"https://example.org/s.json"}})",
       "the JSON Schema is wrong at `/items/$ref`: `https://example.org/s.json` is another "
       "document; it is never fetched"},
      {R"({"$ref":"other.json#/a"})",
       "the JSON Schema is wrong at `/$ref`: `other.json#/a` is another document; it is never "
       "fetched"},
      {R"({"unevaluatedProperties":false})",
       "the JSON Schema is wrong at `/unevaluatedProperties`: `unevaluatedProperties` is not "
       "supported"},
      {R"({"definitions":{"unused":{"type":1}}})",
       "the JSON Schema is wrong at `/definitions/unused/type`: 1 is not a type"},
      {R"({"uniqueItems":1})", "the JSON Schema is wrong at `/uniqueItems`: must be true or false"},
      {R"({"properties":[]})",
       "the JSON Schema is wrong at `/properties`: must be an object of schemas"},
  }));
  INFO(text);
  CHECK(error_of(json(text)) == expected);
}

TEST_CASE("json schema: references that come to no end are refused", "[agent]") {
  const std::string text = GENERATE(
      R"({"$ref":"#"})",
      R"({"allOf":[{"$ref":"#"}]})",
      R"({"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"not":{"$ref":"#/definitions/a"}}}})",
      R"({"if":true,"then":{"anyOf":[true,{"$ref":"#"}]}})");
  INFO(text);
  CHECK_THAT(error_of(json(text)), Catch::EndsWith("refers to itself without end"));
}

TEST_CASE("json schema: a tree of any depth is checked without overflow", "[agent]") {
  const JsonSchema tree =
      schema(R"({"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"integer"}]}})");
  const auto nested = [](int depth) {
    Json value = Json::array({1});
    for (int level = 1; level < depth; ++level) {
      Json outer = Json::array();
      outer.push_back(std::move(value));
      value = std::move(outer);
    }
    return value;
  };
  CHECK(tree.check(nested(200)).empty());
  CHECK_FALSE(tree.check(nested(1'000)).empty());  // more than any reader lets through: refused

  // A long chain of references on one value.
  Json chain = {{"definitions", Json::object()}, {"$ref", "#/definitions/0"}};
  for (int link = 0; link <= 300; ++link) {
    chain["definitions"].push_back(
        {std::to_string(link), {{"$ref", "#/definitions/" + std::to_string(link + 1)}}});
  }
  chain["definitions"].push_back({"301", {{"type", "string"}}});
  const auto made = JsonSchema::compile(chain);
  REQUIRE(made);
  CHECK(complaints(*made, Json(1)) == " must be a string, is an integer");
}

TEST_CASE("json schema: what is read of a value counts as work", "[agent]") {
  const char* const too_much = " is too deeply nested, or takes too long, to be checked";
  Json patterns = {{"anyOf", Json::array()}};
  for (int number = 0; number < 200; ++number) {
    patterns["anyOf"].push_back({{"pattern", "z" + std::to_string(number)}});
  }
  const auto by_patterns = JsonSchema::compile(patterns);
  REQUIRE(by_patterns);
  CHECK(complaints(*by_patterns, Json(std::string(1'000'000, 'a'))) == too_much);
  CHECK(complaints(*by_patterns, Json(std::string(1'000, 'a') + "z7")).empty());

  const auto items = JsonSchema::compile(
      {{"additionalProperties",
        {{"items", {{"anyOf", {{{"type", "null"}}, {{"type", "integer"}}}}}}}}});
  REQUIRE(items);
  Json long_named;
  long_named[std::string(1'000'000, 'k')] = Json::array();
  for (int number = 0; number < 3'000; ++number) {
    long_named.front().push_back(number);
  }
  CHECK(complaints(*items, long_named) == too_much);

  const auto unique = JsonSchema::compile({{"uniqueItems", true}});
  REQUIRE(unique);
  Json forwards;
  Json backwards;
  for (int number = 0; number < 2'000; ++number) {
    forwards["member " + std::to_string(number)] = number;
    backwards["member " + std::to_string(1'999 - number)] = 1'999 - number;
  }
  CHECK(complaints(*unique, Json::array({forwards, backwards})) ==
        " must not have duplicate items: items 0 and 1 are equal");

  Json words = Json::array();
  for (int number = 0; number < 3'000; ++number) {
    words.push_back("word " + std::to_string(number));
  }
  const auto listed = JsonSchema::compile({{"items", {{"enum", words}}}});
  REQUIRE(listed);
  Json all = Json::array();
  for (int number = 0; number < 30'000; ++number) {
    all.push_back("word " + std::to_string(number % 3'000));
  }
  CHECK(complaints(*listed, all).empty());
  all.push_back("word");
  CHECK_THAT(complaints(*listed, all), Catch::StartsWith("/30000 must be one of"));
}

TEST_CASE("json schema: work that multiplies is given up", "[agent]") {
  // Each level asks twice for the next: 2^60 decisions.
  Json multiplied = {{"definitions", Json::object()}, {"$ref", "#/definitions/0"}};
  for (int level = 0; level < 60; ++level) {
    const Json next = {{"$ref", "#/definitions/" + std::to_string(level + 1)}};
    multiplied["definitions"].push_back({std::to_string(level), {{"allOf", {next, next}}}});
  }
  multiplied["definitions"].push_back({"60", true});
  const auto made = JsonSchema::compile(multiplied);
  REQUIRE(made);
  CHECK(complaints(*made, Json(1)) == " is too deeply nested, or takes too long, to be checked");

  // Also where giving up would make a `not` true.
  const auto negated =
      JsonSchema::compile(Json{{"not", multiplied}, {"definitions", multiplied["definitions"]}});
  REQUIRE(negated);
  CHECK_FALSE(negated->check(Json(1)).empty());
}

TEST_CASE("json schema: large values are judged in linear time", "[agent]") {
  Json value = Json::array();
  for (int count = 0; count < 200'000; ++count) {
    value.push_back({{"n", count}});
  }
  CHECK(schema(R"({"uniqueItems":true,"items":{"properties":{"n":{"minimum":0}}}})")
            .check(value)
            .empty());
}

TEST_CASE("json schema: patterns are bounded as a whole, by what they cost to be read", "[agent]") {
  const std::string pattern = "(x{1,900}){1,1}";
  const auto made_of = [&](int count) {
    Json properties = Json::object();
    for (int at = 0; at < count; ++at) {
      properties[std::to_string(at)] = {{"pattern", pattern}};
    }
    return JsonSchema::compile({{"properties", properties}});
  };
  const int most = 200'000 / re2::RE2(pattern).ProgramSize();
  REQUIRE(most > 10);
  CHECK(made_of(most));
  const auto beyond = made_of(most + 1);
  REQUIRE_FALSE(beyond);
  CHECK_THAT(beyond.error().message, Catch::Contains("too much work together"));
}

TEST_CASE("json schema: a moved schema still works", "[agent]") {
  JsonSchema first = schema(R"({"properties":{"a":{"enum":["x"]}}})");
  JsonSchema second = std::move(first);
  first = schema("true");
  CHECK(complaints(second, json(R"({"a":"y"})")) == R"(/a must be one of "x", is "y")");
  CHECK(first.check(Json(1)).empty());
}
