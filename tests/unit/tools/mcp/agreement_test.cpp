#include "tools/mcp/agreement.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Json;
using tools::mcp::Message;

Message result(Json body) {
  return {.kind = Message::Kind::result, .body = std::move(body)};
}

Message error(std::int64_t code, Json data = {}) {
  return {
      .kind = Message::Kind::error, .body = std::move(data), .code = code, .error_message = "no\n"};
}

}  // namespace

TEST_CASE("agreement: which servers speak without a handshake") {
  struct Row {
    Message answer;
    std::string revision;  // empty: it is asked for a handshake
  };
  const std::vector<Row> rows = {
      {result({{"supportedVersions", {"2026-07-28", "2025-11-25"}}}), "2026-07-28"},
      {result({{"supportedVersions", {"2025-11-25"}}}), ""},
      {result(Json::object()), ""},
      {result({{"supportedVersions", "2026-07-28"}}), ""},
      {result(7), ""},
      {error(-32601), ""},
      {error(-32000), ""},
      {error(-32022, {{"supported", {"2026-07-28"}}}), "2026-07-28"},
      {error(-32022, {{"supported", {"2024-11-05"}}}), ""},
      {error(-32022), ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.answer.body, row.answer.code);
    const auto agreement = tools::mcp::stateless_agreement(row.answer, "s");
    REQUIRE(agreement);
    CHECK((*agreement ? (*agreement)->revision : "") == row.revision);
    CHECK((*agreement && (*agreement)->is_stateless) == !row.revision.empty());
  }
  const auto later =
      tools::mcp::stateless_agreement(result({{"supportedVersions", {"2031-01-01", 7}}}), "s");
  REQUIRE_FALSE(later);
  CHECK(later.error().code == agent::Code::mcp_initialization);
  CHECK(later.error().message ==
        "the MCP server `s` speaks the revisions 2031-01-01, 7, and errand none of them");
}

TEST_CASE("agreement: who tells of changes of its tools") {
  const std::vector<std::pair<Json, bool>> rows = {{{{"tools", {{"listChanged", true}}}}, true},
                                                   {{{"tools", {{"listChanged", false}}}}, false},
                                                   {{{"tools", {{"listChanged", 1}}}}, false},
                                                   {{{"tools", Json::object()}}, false},
                                                   {{{"tools", 7}}, false},
                                                   {Json::object(), false},
                                                   {"all", false}};
  for (const auto& [capabilities, tells] : rows) {
    CAPTURE(capabilities);
    const auto newer = tools::mcp::stateless_agreement(
        result({{"supportedVersions", {"2026-07-28"}}, {"capabilities", capabilities}}), "s");
    CHECK((newer && *newer && (*newer)->tells_of_tools) == tells);
    const auto older = tools::mcp::session_agreement(
        result({{"protocolVersion", "2025-11-25"}, {"capabilities", capabilities}}), "s");
    CHECK((older && older->tells_of_tools) == tells);
  }
}

TEST_CASE("agreement: revisions with a handshake") {
  for (const std::string revision : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
    const auto agreement = tools::mcp::session_agreement(result({{"protocolVersion", revision},
                                                                 {"serverInfo",
                                                                  {{"name",
                                                                    "a\x1b"
                                                                    "b"},
                                                                   {"version", "1"}}}}),
                                                         "s");
    REQUIRE(agreement);
    CHECK(agreement->revision == revision);
    CHECK_FALSE(agreement->is_stateless);
    CHECK(agreement->server == "a\\x1bb 1");
  }
  for (const Json& body :
       {Json{{"protocolVersion", "2026-07-28"}}, Json(Json::object()), Json(7)}) {
    CAPTURE(body);
    CHECK_FALSE(tools::mcp::session_agreement(result(body), "s"));
  }
  const auto stateless =
      tools::mcp::session_agreement(result({{"protocolVersion", "2026-07-28"}}), "s");
  CHECK(stateless.error().message.ends_with(
      "has not answered `server/discover` as that revision says"));
  const auto refused = tools::mcp::session_agreement(error(-32000), "s");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "the MCP server `s` refuses: no\\n (-32000)");
}

TEST_CASE("agreement: what each request says of its own age") {
  CHECK(tools::mcp::metadata({.revision = "2025-11-25"}, "1").empty());
  const Json metadata = tools::mcp::metadata(tools::mcp::newest_agreement(), "1.2");
  CHECK(metadata.at("io.modelcontextprotocol/protocolVersion") == "2026-07-28");
  CHECK(metadata.at("io.modelcontextprotocol/clientInfo") ==
        Json{{"name", "errand"}, {"version", "1.2"}});
  CHECK(metadata.at("io.modelcontextprotocol/clientCapabilities") ==
        Json{{"elicitation", {{"form", Json::object()}}}});
}

TEST_CASE("agreement: what a server announces") {
  const auto agreed = [](const Json& capabilities, bool is_stateless) {
    Json body = {{"capabilities", capabilities}};
    if (is_stateless) {
      body["supportedVersions"] = {"2026-07-28"};
      return **tools::mcp::stateless_agreement(result(body), "s");
    }
    body["protocolVersion"] = "2025-11-25";
    return *tools::mcp::session_agreement(result(body), "s");
  };
  for (const bool is_stateless : {false, true}) {
    const auto all = agreed({{"tools", Json::object()},
                             {"resources", {{"subscribe", true}}},
                             {"prompts", Json::object()}},
                            is_stateless);
    CHECK((all.has_tools && all.has_resources && all.has_prompts));
    for (const Json& capabilities :
         {Json(), Json(7), Json(Json::object()), Json{{"resources", false}, {"prompts", 7}}}) {
      CAPTURE(capabilities);
      const auto none = agreed(capabilities, is_stateless);
      CHECK_FALSE((none.has_tools || none.has_resources || none.has_prompts));
    }
  }
}
