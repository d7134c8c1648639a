#include "agent/schema/json_schema.h"
#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <string>

namespace {

agent::Json list_of(std::size_t count, std::size_t bytes = 1) {
  agent::Json items = agent::Json::array();
  for (std::size_t at = 0; at < count; ++at) {
    items.push_back({{"content", std::string(bytes, 'x')}, {"status", "pending"}});
  }
  return {{"items", items}};
}

}  // namespace

TEST_CASE("todo: a list replaces the one before, and is the run's own", "[tools]") {
  const tests::FileFolder folder;
  const auto tool = tests::made(tools::make_todo);
  CHECK(folder.call(*tool, "{}").text == "The list is empty.\n");
  const auto full = folder.call(
      *tool,
      R"({"items": [{"content": "a\nb", "status": "completed"}, {"content": "c", "status": "in_progress"},
                    {"content": "d", "status": "pending"}]})");
  CHECK(full.text == "1. [x] a b\n2. [>] c\n3. [ ] d\n1 of 3 completed\n");
  CHECK(folder.call(*tool, "{}").text == full.text);
  CHECK(folder.call(*tests::made(tools::make_todo), "{}").text == "The list is empty.\n");
  CHECK(folder.call(*tool, R"({"items": [{"content": "e", "status": "completed"}]})").text ==
        "1. [x] e\n1 of 1 completed\n");
  CHECK(folder.call(*tool, R"({"items": []})").text == "The list is empty.\n");
}

TEST_CASE("todo: the list is bounded", "[tools]") {
  const auto tool = tests::made(tools::make_todo);
  const auto schema = agent::JsonSchema::compile(*agent::parse_json(tool->info().parameters));
  REQUIRE(schema);
  CHECK(schema->check(list_of(100)).empty());
  CHECK_FALSE(schema->check(list_of(101)).empty());
  CHECK(schema->check(list_of(1, 500)).empty());
  CHECK_FALSE(schema->check(list_of(1, 501)).empty());
  CHECK_FALSE(schema->check(list_of(1, 0)).empty());
}
