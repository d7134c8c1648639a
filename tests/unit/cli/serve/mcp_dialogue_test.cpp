#include "cli/serve/mcp_dialogue.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using agent::Json;
using cli::McpDialogue;
using cli::Reaction;

std::vector<cli::ServedTool> two_tools() {
  return {{.name = "first", .description = "It is first.", .input_schema = {{"type", "object"}}},
          {.name = "second",
           .description = "It is not.",
           .input_schema = {{"type", "object"}},
           .output_schema = {{"type", "object"}, {"required", {"n"}}}}};
}

class Client {
 public:
  Reaction say(const std::string& text) {
    const cli::Heard heard = dialogue_.hear(text);
    REQUIRE(heard.reactions.size() == 1);
    CHECK_FALSE(heard.is_list);
    return heard.reactions.front();
  }
  Reaction ask(const std::string& method, const Json& params = nullptr) {
    Json message = {{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}};
    if (!params.is_null()) {
      message["params"] = params;
    }
    return say(agent::dump(message));
  }
  Json result(const std::string& method, const Json& params = nullptr) {
    const Reaction reaction = ask(method, params);
    INFO(reaction.reply);
    REQUIRE(reaction.error_code == 0);
    const Json reply = agent::parse_json(reaction.reply).value_or(Json());
    CHECK(reply["jsonrpc"] == "2.0");
    CHECK(reply["id"] == 7);
    return reply["result"];
  }
  cli::Heard hear(const std::string& text) { return dialogue_.hear(text); }

 private:
  std::vector<cli::ServedTool> tools_ = two_tools();
  McpDialogue dialogue_{tools_, "1.2.3"};
};

Json metadata(const std::string& revision = "2026-07-28") {
  return {{"io.modelcontextprotocol/protocolVersion", revision},
          {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
}

}  // namespace

TEST_CASE("mcp dialogue: a handshake agrees on a revision that both speak", "[cli]") {
  const auto [wanted, agreed] = GENERATE(table<std::string, std::string>({
      {"2025-11-25", "2025-11-25"},
      {"2024-11-05", "2024-11-05"},
      {"2026-07-28", "2025-11-25"},
      {"tomorrow", "2025-11-25"},
  }));
  Client client;
  const Json result = client.result("initialize", {{"protocolVersion", wanted}});
  CHECK(result["protocolVersion"] == agreed);
  CHECK(result["serverInfo"] == Json({{"name", "errand"}, {"version", "1.2.3"}}));
  CHECK(result["capabilities"] == Json({{"tools", Json::object()}}));
  CHECK(client.ask("initialize", {{"protocolVersion", wanted}}).error_code == -32600);
}

TEST_CASE("mcp dialogue: tools are listed with their schemas", "[cli]") {
  Client client;
  client.ask("initialize", {{"protocolVersion", "2025-06-18"}});
  const Json tools = client.result("tools/list")["tools"];
  REQUIRE(tools.size() == 2);
  CHECK(tools[0] == Json({{"name", "first"},
                          {"description", "It is first."},
                          {"inputSchema", {{"type", "object"}}}}));
  CHECK(tools[1]["outputSchema"]["required"] == Json({"n"}));
}

TEST_CASE("mcp dialogue: a call is handed on with what it is to be answered by", "[cli]") {
  Client client;
  client.ask("initialize", {{"protocolVersion", "2025-06-18"}});
  const Reaction reaction = client.ask(
      "tools/call",
      {{"name", "second"}, {"arguments", {{"a", 1}}}, {"_meta", {{"progressToken", "p"}}}});
  REQUIRE(reaction.call);
  CHECK(reaction.reply.empty());
  CHECK(reaction.call->tool == "second");
  CHECK(reaction.call->arguments == Json({{"a", 1}}));
  CHECK_FALSE(reaction.call->is_stateless);
  CHECK(agent::parse_json(cli::progress_message(*reaction.call, 3, "turn 2")) ==
        Json({{"jsonrpc", "2.0"},
              {"method", "notifications/progress"},
              {"params", {{"progressToken", "p"}, {"progress", 3}, {"message", "turn 2"}}}}));
  CHECK(agent::parse_json(cli::call_reply(
            *reaction.call,
            {.texts = {"{}"}, .structured = Json::object(), .details = {{"exit_code", 0}}})) ==
        Json({{"jsonrpc", "2.0"},
              {"id", 7},
              {"result",
               {{"content", Json::array({{{"type", "text"}, {"text", "{}"}}})},
                {"structuredContent", Json::object()},
                {"isError", false},
                {"_meta", {{"errand/result", {{"exit_code", 0}}}}}}}}));
}

TEST_CASE("mcp dialogue: without a session each request says its revision", "[cli]") {
  Client client;
  const Json found = client.result("server/discover", {{"_meta", metadata()}});
  CHECK(found["supportedVersions"][0] == "2026-07-28");
  CHECK(found["supportedVersions"].size() == 5);
  CHECK(found["resultType"] == "complete");
  CHECK(client.result("tools/list", {{"_meta", metadata()}})["cacheScope"] == "private");
  const Reaction call = client.ask("tools/call", {{"name", "first"}, {"_meta", metadata()}});
  REQUIRE(call.call);
  CHECK(call.call->arguments == Json::object());
  CHECK(call.call->progress_token.is_null());
  CHECK(cli::call_reply(*call.call, {}).contains(R"("resultType":"complete")"));
  CHECK(client.ask("initialize", {{"_meta", metadata()}}).error_code == -32601);
  CHECK(client.ask("server/discover").error_code == -32602);
  const Reaction other = client.ask("tools/list", {{"_meta", metadata("2027-01-01")}});
  CHECK(other.error_code == -32022);
  CHECK(other.reply.contains(R"("requested":"2027-01-01")"));
}

TEST_CASE("mcp dialogue: what is no request gets the error of its kind", "[cli]") {
  const auto [text, code] = GENERATE(table<std::string, int>({
      {"", -32700},
      {"{", -32700},
      {"null", -32600},
      {"{}", -32600},
      {R"({"id":1,"method":7})", -32600},
      {R"({"id":[],"method":"ping"})", -32600},
      {R"({"id":1.5,"method":"ping"})", -32600},
      {R"({"id":true,"method":"ping"})", -32600},
      {R"({"id":1,"method":"ping","params":[]})", -32602},
      {R"({"id":1,"method":"tools/list"})", -32600},
      {R"({"id":1,"method":"initialize"})", -32602},
      {R"({"id":1,"method":"sampling/createMessage"})", -32601},
      {R"([{"id":1,"method":"ping"}])", -32600},
  }));
  Client client;
  INFO(text);
  CHECK(client.say(text).error_code == code);
}

TEST_CASE("mcp dialogue: only requests are answered", "[cli]") {
  Client client;
  for (const char* text : {R"({"method":"notifications/initialized"})",
                           R"({"method":"nobody/knows"})",
                           R"({"id":3,"result":{}})",
                           R"({"id":3,"error":{"code":1,"message":"x"}})",
                           R"({"method":"notifications/cancelled"})",
                           R"({"method":"notifications/cancelled","params":{"requestId":[]}})"}) {
    INFO(text);
    const Reaction reaction = client.say(text);
    CHECK(reaction.reply.empty());
    CHECK_FALSE(reaction.call);
    CHECK_FALSE(reaction.cancelled);
  }
  CHECK(
      client.say(R"({"method":"notifications/cancelled","params":{"requestId":"a"}})").cancelled ==
      Json("a"));
}

TEST_CASE("mcp dialogue: one revision has lists of messages", "[cli]") {
  Client client;
  client.ask("initialize", {{"protocolVersion", "2025-03-26"}});
  const auto [reactions, is_list] =
      client.hear(R"([{"id":1,"method":"ping"},{"method":"x"},{"id":2,"method":"x"},{"id":3},7])");
  CHECK(is_list);
  REQUIRE(reactions.size() == 5);
  CHECK(reactions[0].error_code == 0);
  CHECK(reactions[1].reply.empty());
  CHECK(reactions[2].error_code == -32601);
  CHECK(reactions[3].error_code == -32600);
  CHECK(reactions[4].error_code == -32600);
  CHECK(client.say("[]").error_code == -32600);
}
