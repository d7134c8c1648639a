#include "tools/mcp/header_mirror.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace {

using agent::Json;
using tools::mcp::header_mirrors;
using tools::mcp::header_text;
using tools::mcp::text_of_header;

Json property(const Json& header, const std::string& type = "string") {
  return {{"type", type}, {"x-mcp-header", header}};
}

Json schema(const Json& properties) {
  return {{"type", "object"}, {"properties", properties}};
}

}  // namespace

TEST_CASE("header mirror: arguments that stand in headers, too") {
  const Json deep =
      schema({{"n", property("Number", "integer")},
              {"at", schema({{"city", property("City")}, {"is", property("Is", "boolean")}})},
              {"plain", {{"type", "string"}}}});
  const auto mirrors = header_mirrors(deep);
  REQUIRE(mirrors);
  CHECK(tools::mcp::mirrored(*mirrors, {{"n", 7}, {"at", {{"city", "Bonn"}, {"is", true}}}}) ==
        agent::Headers{
            {"Mcp-Param-Number", "7"}, {"Mcp-Param-City", "Bonn"}, {"Mcp-Param-Is", "true"}});
  for (const Json& without : {Json::object(),
                              Json{{"n", nullptr}, {"at", 7}},
                              Json{{"at", Json::array()}, {"n", {{"x", 1}}}}}) {
    CAPTURE(without);
    CHECK(tools::mcp::mirrored(*mirrors, without).empty());
  }
}

TEST_CASE("header mirror: schemas with which a tool cannot be used") {
  struct Row {
    Json schema;
    std::string said;
  };
  const std::vector<Row> rows = {
      {schema({{"a", property("")}}), "is not the name of a header: \"\""},
      {schema({{"a", property("a b")}}), "is not the name of a header"},
      {schema({{"a", property("a\r\nX: y")}}), "is not the name of a header"},
      {schema({{"a", property("ü")}}), "is not the name of a header"},
      {schema({{"a", property(7)}}), "is not the name of a header: 7"},
      {schema({{"a", property("A")}, {"b", property("a")}}), "twice"},
      {schema({{"a", property("A", "number")}}), "no string, integer or boolean"},
      {schema({{"a", {{"x-mcp-header", "A"}}}}), "no string, integer or boolean"},
      {schema({{"a", {{"type", "array"}, {"items", property("A")}}}}), "where no property"},
      {{{"oneOf", {schema({{"a", property("A")}})}}}, "where no property"},
      {{{"x-mcp-header", "A"}}, "where no property"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.schema);
    const auto mirrors = header_mirrors(row.schema);
    REQUIRE_FALSE(mirrors);
    CHECK_THAT(mirrors.error(), Catch::Contains(row.said));
  }
  CHECK(header_mirrors(Json::object()));
  CHECK(header_mirrors(7));
}

TEST_CASE("header mirror: what a header cannot hold is framed") {
  CHECK(header_text("plain words") == "plain words");
  CHECK(header_text("") == "");
  CHECK(header_text(" a") == "=?base64?IGE=?=");
  CHECK(header_text("a\nb") == "=?base64?YQpi?=");
  CHECK(header_text("ü") == "=?base64?w7w=?=");
  CHECK(header_text("=?base64?YQ==?=") == "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
  CHECK(header_text("=?base64?YQ==") == "=?base64?YQ==");
}

TEST_CASE("header mirror: what is framed comes back") {
  for (const std::string text : {"plain words", "", " a", "a\nb", "ü", "=?base64?YQ==?="}) {
    CHECK(text_of_header(header_text(text)) == text);
  }
  CHECK(text_of_header("=?base64?YQ") == "=?base64?YQ");
  CHECK(text_of_header(header_text("ü")) == "ü");
  CHECK(text_of_header("=?base64?=") == "=?base64?=");
  CHECK_FALSE(text_of_header("=?base64?!!!!?="));
}
