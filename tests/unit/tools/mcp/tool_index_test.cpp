#include "tools/mcp/tool_index.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using tools::mcp::ToolIndex;

namespace {

using Names = std::vector<std::string>;

ToolIndex index() {
  ToolIndex made;
  made.add({.name = "mcp__git__list_issues",
            .description = "Lists what is open.",
            .parameters = R"({"properties":{"repository":{"type":"string"}}})"});
  made.add({.name = "mcp__git__createIssue", .description = "Opens one.", .parameters = "{}"});
  made.add({.name = "mcp__docs__search",
            .description = "Finds pages about issues, and Überschriften.",
            .parameters = R"({"properties":{"q":{"description":"Words of the page"}}})"});
  made.add({.name = "mcp__docs__list", .description = "Lists all pages.", .parameters = "none"});
  return made;
}

Names names(const ToolIndex::Found& found) {
  Names all;
  for (const agent::ToolInfo* tool : found.tools) {
    all.push_back(tool->name);
  }
  return all;
}

Names find(std::string_view query, std::size_t limit = 20) {
  const ToolIndex made = index();
  return names(made.find(query, limit));
}

}  // namespace

TEST_CASE("tool index: names count more than words about them, whole words more than beginnings",
          "[tools]") {
  CHECK(find("issues") == Names{"mcp__git__list_issues", "mcp__docs__search"});
  CHECK(find("issue") ==
        Names{"mcp__git__createIssue", "mcp__git__list_issues", "mcp__docs__search"});
  CHECK(find("repository") == Names{"mcp__git__list_issues"});
  CHECK(find("page") == Names{"mcp__docs__search", "mcp__docs__list"});
  CHECK(find("überschriften").empty());  // only ASCII has cases here
  CHECK(find("Überschriften") == Names{"mcp__docs__search"});
}

TEST_CASE("tool index: what fits more words comes first, then the alphabet decides", "[tools]") {
  CHECK(find("list pages") ==
        Names{"mcp__docs__list", "mcp__git__list_issues", "mcp__docs__search"});
  CHECK(find("mcp") == Names{"mcp__docs__list",
                             "mcp__docs__search",
                             "mcp__git__createIssue",
                             "mcp__git__list_issues"});
  CHECK(find("list list list pages") == find("list pages"));
}

TEST_CASE("tool index: a tool's very name finds it first", "[tools]") {
  CHECK(find(" mcp__docs__search ").front() == "mcp__docs__search");
  CHECK(find("mcp__git__createIssue", 1) == Names{"mcp__git__createIssue"});
}

TEST_CASE("tool index: what nothing fits, and a limit", "[tools]") {
  CHECK(find("").empty());
  CHECK(find("-- !? ,").empty());
  CHECK(find("li").empty());  // too short for the beginning of a word
  const ToolIndex made = index();
  const auto found = made.find("lists", 1);
  CHECK(found.all == 2);
  CHECK(found.tools.size() == 1);
  CHECK(made.size() == 4);
}

TEST_CASE("tool index: a query without end is cut", "[tools]") {
  std::string query;
  for (int word = 0; word < 100'000; ++word) {
    query += "w" + std::to_string(word) + " ";
  }
  CHECK(find(query + "issues").empty());
  CHECK(find("issues " + query).size() == 2);
  CHECK(find(std::string(1'000'000, 'x')).empty());
}
