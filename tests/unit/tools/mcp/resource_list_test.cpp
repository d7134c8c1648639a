#include "tools/mcp/resource_list.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using agent::Json;
using tools::mcp::climbs;
using tools::mcp::ItemList;
using tools::mcp::ResourceKind;

std::string resource_list(const Json& items, ResourceKind kind, std::string_view contains) {
  return tools::mcp::resource_list(
      ItemList{.items = items.get<std::vector<Json>>()}, kind, contains);
}

Json numbered(int count) {
  Json items = Json::array();
  for (int at = 0; at < count; ++at) {
    items.push_back({{"uri", "x://" + std::to_string(at)}});
  }
  return items;
}

int lines_in(const std::string& text) {
  return static_cast<int>(std::ranges::count(text, '\n'));
}

}  // namespace

TEST_CASE("resource list: a line each, with what is known of it") {
  const Json items = {{{"uri", "x://a"}},
                      {{"uri", "x://b"},
                       {"name", "b.txt"},
                       {"mimeType", "text/plain"},
                       {"size", 7},
                       {"description", "Two\nlines."}},
                      {{"uri", "x://c"}, {"name", "c.txt"}, {"title", "Sea"}, {"size", "big"}}};
  CHECK(resource_list(items, ResourceKind::resource, "") ==
        "x://a\nx://b (b.txt, text/plain, 7 bytes) Two\\nlines.\nx://c (Sea)\n");
}

TEST_CASE("resource list: templates have patterns") {
  const Json items = {{{"uriTemplate", "x://{day}"}, {"name", "day"}}};
  CHECK(resource_list(items, ResourceKind::pattern, "") == "x://{day} (day)\n");
  CHECK(resource_list(Json::array(), ResourceKind::pattern, "") ==
        "The server has no templates.\n");
}

TEST_CASE("resource list: a text narrows it, wherever it stands") {
  const Json items = {{{"uri", "x://Alpha"}},
                      {{"uri", "x://1"}, {"name", "ALPHA"}},
                      {{"uri", "x://2"}, {"title", "alphabet"}},
                      {{"uri", "x://3"}, {"description", "the alpha"}},
                      {{"uri", "x://4"}, {"name", "beta"}}};
  CHECK(lines_in(resource_list(items, ResourceKind::resource, "aLPHa")) == 4);
  CHECK(resource_list(items, ResourceKind::resource, "gamma") ==
        "None of its 5 resources has this text.\n");
}

TEST_CASE("resource list: a long one says how many more there are") {
  const std::string text = resource_list(numbered(201), ResourceKind::resource, "");
  CHECK(lines_in(text) == 201);
  CHECK(text.ends_with("x://199\n1 more: `contains` shows those that have a text.\n"));
  CHECK(resource_list(numbered(200), ResourceKind::resource, "").ends_with("x://199\n"));
}

TEST_CASE("resource list: says that there are more where nobody looked, and only there") {
  const auto items = numbered(10'000).get<std::vector<Json>>();
  const auto listed = [&](bool goes_on, std::string_view contains) {
    return tools::mcp::resource_list(
        {.items = items, .goes_on = goes_on}, ResourceKind::resource, contains);
  };
  CHECK(listed(false, "").ends_with("\n9800 more: `contains` shows those that have a text.\n"));
  CHECK(listed(false, "9999") == "x://9999\n");
  CHECK(listed(false, "none") == "None of its 10000 resources has this text.\n");
  const std::string more = "The server has more resources than the 10000 that were looked at.\n";
  CHECK(listed(true, "").ends_with("have a text.\n" + more));
  CHECK(listed(true, "9999") == "x://9999\n" + more);
  CHECK(listed(true, "none") == "None of its first 10000 resources has this text.\n" + more);
}

TEST_CASE("resource list: what a model could not say again is left out, and counted") {
  const Json items = {{{"uri", "x://a"}},
                      {{"uri", "x://\x1b[2J"}},
                      {{"uri", "x://a\nb"}},
                      {{"uri", std::string(2'001, 'x')}},
                      {{"name", "none"}},
                      7};
  CHECK(resource_list(items, ResourceKind::resource, "") ==
        "x://a\n5 left out: too long, or no URI.\n");
}

TEST_CASE("resource list: a URI with blanks is none") {
  using tools::mcp::has_blanks;
  for (const char* uri :
       {"x:a b", " x:a", "x:a\n", "x:.\t.", "x:.\r.", "x:\x7f", "x:\x01", "x:\xc2\x85"}) {
    INFO(uri);
    CHECK(has_blanks(uri));
  }
  CHECK(has_blanks(std::string_view("x:\0a", 4)));
  for (const char* uri : {"", "x:a%20b", "x:ü/€", "x:a?b=c&d#e"}) {
    INFO(uri);
    CHECK_FALSE(has_blanks(uri));
  }
  CHECK(resource_list(Json::array({{{"uri", "x:a b"}}}), ResourceKind::resource, "") ==
        "1 left out: too long, or no URI.\n");
}

TEST_CASE("resource list: a URI that climbs") {
  for (const char* uri : {"file:///a/../b",
                          "file:///a/..",
                          "../a",
                          "x:..",
                          "x:../a",
                          "x:%2e%2e/a",
                          "x:..?q",
                          "x:a/%2e%2E/b",
                          "x:a/.%2e",
                          "x:a%2f..%2fb",
                          "x:a\\..\\b",
                          "x:a/..?q",
                          "x:a?p=1/../b",
                          "x:a/..#f",
                          "x:a/.%09./b",
                          "x:a/.%0a%0D.",
                          "x:a/.\t./b"}) {
    INFO(uri);
    CHECK(climbs(uri));
  }
  for (const char* uri : {"",
                          "x:..b",
                          "x://a..b",
                          "x://a/...",
                          "x://a/..b",
                          "x://a/b..",
                          "x:%2",
                          "x:%zz..",
                          "x://a/."}) {
    INFO(uri);
    CHECK_FALSE(climbs(uri));
  }
}
