#include "agent/flow/expression.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace {

using agent::Json;
using agent::flow::Expression;

const Json& world() {
  static const Json k_world = *agent::parse_json(R"({
    "plan": {"text": "two files", "output": {"files": ["a", "b"], "count": 2, "big": 18446744073709551617}},
    "fix": [{"text": "one", "exit_code": 0}, {"text": "two", "exit_code": 80}],
    "none": null
  })");
  return k_world;
}

const Json* look_up(std::string_view name) {
  const auto found = world().find(name);
  return found == world().end() ? nullptr : &*found;
}

std::string value_of(const std::string& text) {
  const auto expression = Expression::parse(text);
  if (!expression) {
    return "mistake at " + std::to_string(expression.error().offset) + ": " +
           expression.error().message;
  }
  const auto value = expression->value(look_up);
  return value ? agent::dump(*value) : "error: " + value.error().message;
}

}  // namespace

TEST_CASE("expression: values") {
  const auto [text, value] = GENERATE(table<std::string, std::string>({
      {"plan.text", "\"two files\""},
      {"plan.output.files", R"(["a","b"])"},
      {"plan.output.files[1]", "\"b\""},
      {"fix[*].text", R"(["one","two"])"},
      {"fix[1].exit_code == 80", "true"},
      {"plan.output.count >= 2 and not fix[0].exit_code != 0", "true"},
      {"plan.output.count < 2 or plan.text == 'two files'", "true"},
      {"!(plan.output.count > 1) || false", "false"},
      {"plan.output.files != []", "true"},
      {"'a' < \"b\" && 1.0 == 1", "true"},
      {"-1.5e2 <= 0", "true"},
      {"plan.output.missing", "null"},
      {"none.text.more", "null"},
      {"unknown == null", "true"},
      {"unknown < 3", "false"},
      {"unknown >= 3", "false"},
      {"plan.text > null", "false"},
      {"plan.output.big == 18446744073709551617", "true"},
      {"plan.output.big == 18446744073709551616", "false"},
      {"9007199254740993 == 9007199254740992", "false"},
      {"9007199254740993 > 9007199254740992", "true"},
      {"[] == []", "true"},
      {"notes", "null"},  // a name that begins as a word does
      {"false and plan", "false"},
      {"true or plan", "true"},
  }));
  INFO(text);
  CHECK(value_of(text) == value);
}

TEST_CASE("expression: what has no value is an error") {
  const auto [text, part] = GENERATE(table<std::string, std::string>({
      {"plan.text.more", "which has no `more`"},
      {"fix[2].text", "`fix` has no item 2"},
      {"plan[*]", "`plan` is not a list"},
      {"plan.text < 3", "have no order"},
      {"not plan.text", "neither true nor false"},
      {"plan.output.count and true", "neither true nor false"},
  }));
  INFO(text);
  const std::string said = value_of(text);
  CHECK(said.starts_with("error: the expression `"));
  CHECK(said.contains(part));
}

TEST_CASE("expression: mistakes have their place") {
  const auto [text, at] = GENERATE(table<std::string, std::size_t>({
      {"", 0},
      {"plan.", 5},
      {"plan. text", 5},
      {"plan[x]", 4},
      {"plan[1", 4},
      {"(true", 5},
      {"true true", 5},
      {"1 +2", 2},
      {"'open", 0},
      {"a == ", 5},
      {"a == b == c", 7},
      {"1..2", 0},
      {"$a", 0},
  }));
  INFO(text);
  const auto expression = Expression::parse(text);
  REQUIRE_FALSE(expression);
  CHECK(expression.error().offset == at);
}

TEST_CASE("expression: depth and length are bounded") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "true" + std::string(depth, ')');
  };
  CHECK(Expression::parse(nested(64)));
  CHECK_FALSE(Expression::parse(nested(65)));
  CHECK(Expression::parse("a" + std::string(Expression::k_most_bytes - 1, 'b')));
  CHECK_FALSE(Expression::parse("a" + std::string(Expression::k_most_bytes, 'b')));
}

TEST_CASE("expression: the paths that it names") {
  const auto expression = Expression::parse("plan.output.files[0] == item and fix[*].text != []");
  REQUIRE(expression);
  std::vector<std::string> paths;
  for (const auto& path : expression->paths()) {
    paths.push_back(path.shown());
    CHECK(expression->text().substr(path.offset, path.length) == path.shown());
  }
  CHECK(paths == std::vector<std::string>{"plan.output.files[0]", "item", "fix[*].text"});
  CHECK(expression->as_path() == nullptr);
  CHECK(Expression::parse(" plan.text ")->as_path() != nullptr);
}
