#include "tools/runner/possible_call.h"

#include "tools/runner/runner.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>

using agent::Json;

namespace {

agent::Result<void> fit(const std::string& tool, const Json& arguments) {
  auto configured = tools::configure_tool({.name = tool});
  REQUIRE(configured);
  const tools::Tool& made = *configured->tool;
  const auto schema = agent::JsonSchema::compile(*agent::parse_json(made.info().parameters));
  REQUIRE(schema);
  return tools::check_fit(made, *schema, arguments);
}

}  // namespace

TEST_CASE("possible call: what a tool does not take is known before it runs", "[tools]") {
  struct Row {
    std::string tool;
    Json arguments;
    std::string why;  // a part of it
  };
  const auto row = GENERATE(values<Row>({
      {"shell", {{"command", 1}}, "/command must be"},
      {"shell", {{"command", " \t\n"}}, "`command` is blank"},
      {"shell", {{"command", "ls"}, {"timeout", "-1s"}}, "`timeout` is not a time"},
      {"edit_file",
       {{"path", "x"}, {"old_string", "a"}, {"new_string", "a"}},
       "old_string and new_string are the same"},
      {"grep", {{"pattern", "("}}, "not a valid RE2 expression"},
      {"git_commit", {{"message", "\n"}}, "`message` is blank"},
      {"web_fetch", {{"url", "nowhere"}}, "is not a URL"},
  }));
  INFO(row.tool << " " << row.arguments.dump());
  const auto fits = fit(row.tool, row.arguments);
  REQUIRE(!fits);
  CHECK(fits.error().message.contains(row.why));
}

TEST_CASE("possible call: a comment is a command, and a carriage return one, too", "[tools]") {
  CHECK(fit("shell", {{"command", "# nothing"}}));
  CHECK(fit("shell", {{"command", "\r"}}));
  CHECK(fit("git_commit", {{"message", "m"}}));
}
