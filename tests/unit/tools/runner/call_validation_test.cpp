#include "tools/runner/call_validation.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using agent::Code;

TEST_CASE("intake: a name is repaired only where there is no doubt", "[tools]") {
  const std::vector<std::string> names{"grep", "list_directory", "read_file", "run-tests", "shell"};
  const auto repair = [&](const char* name) {
    return tools::repair_name(name, names).value_or("none");
  };
  CHECK(repair("read_file") == "read_file");
  CHECK(repair("Read_File") == "read_file");
  CHECK(repair("read-file") == "read_file");
  CHECK(repair("run_tests") == "run-tests");
  CHECK(repair("functions.read_file") == "read_file");
  CHECK(repair("default_api:grep") == "grep");
  CHECK(repair("tools/Read-File") == "read_file");
  CHECK(repair("mcp__files__read_file") == "none");
  CHECK(repair("browser.shell") == "none");
  CHECK(repair("functions.browser.shell") == "none");
  CHECK(repair("ReadFile") == "read_file");
  CHECK(repair("functions.RunTests") == "run-tests");
  CHECK(repair("readfile") == "none");
  CHECK(repair("functions.shel") == "none");
  CHECK(repair("unshell") == "none");
  CHECK(repair("shell2") == "none");
  CHECK(repair("write_file") == "none");
  CHECK(repair("bash") == "none");
  CHECK(repair("") == "none");
}

TEST_CASE("intake: two names of the same words are no repair", "[tools]") {
  const std::vector<std::string> names{"a-b", "a_b"};
  CHECK(tools::repair_name("A-B", names) == std::nullopt);
  CHECK(tools::repair_name("a_b", names) == "a_b");
}

TEST_CASE("intake: arguments must be one whole JSON object", "[tools]") {
  CHECK(tools::parse_arguments(R"({"a": 1})")->at("a") == 1);
  CHECK(tools::parse_arguments("{}"));
  for (const char* text : {"", "  ", "{\"a\": ", "[1]", "null", "\"x\"", "{} {}"}) {
    INFO(text);
    const auto arguments = tools::parse_arguments(text);
    REQUIRE_FALSE(arguments);
    CHECK(arguments.error().code == Code::tool_invalid_parameters);
  }
  CHECK_THAT(tools::parse_arguments("").error().message, Catch::Contains("cut off"));
}

TEST_CASE("intake: a wrong type is told apart from other mistakes", "[tools]") {
  const auto schema = agent::JsonSchema::compile(*agent::parse_json(R"({
      "type": "object",
      "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
      "required": ["path"], "additionalProperties": false})"));
  REQUIRE(schema);
  const auto check = [&](const char* text) {
    return tools::check_arguments(*schema, *agent::parse_json(text));
  };
  CHECK(check(R"({"path": "a", "limit": 3})"));
  CHECK(check(R"({"path": 5})").error().code == Code::tool_type_mismatch);
  CHECK_THAT(check(R"({"path": 5})").error().message, Catch::Contains("/path"));
  CHECK(check(R"({"path": 5, "limit": 0})").error().code == Code::tool_invalid_parameters);
  CHECK(check("{}").error().code == Code::tool_invalid_parameters);
  CHECK_THAT(check("{}").error().message, Catch::Contains("path"));
  CHECK(check(R"({"path": "a", "colour": 1})").error().code == Code::tool_invalid_parameters);
}
