// What prompt caches pay for: the next turn's request begins with this turn's.
#include "agent/json.h"
#include "providers/wire/wire.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace {

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);

struct Protocol {
  std::string name;
  Make make;
  std::string model;
  std::string raw;  // an assistant's turn as the server sent it
};

const std::vector<Protocol> k_protocols = {
    {"anthropic_messages",
     providers::make_anthropic_messages,
     "claude-sonnet-4-5",
     R"([{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"c","name":"f","input":{}}])"},
    {"bedrock",
     providers::make_bedrock,
     "anthropic.claude-sonnet-4-5",
     R"([{"toolUse":{"toolUseId":"c","name":"f","input":{}}}])"},
    {"gemini",
     providers::make_gemini,
     "gemini-2.5-flash",
     R"([{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}])"},
    {"ollama",
     providers::make_ollama,
     "qwen3",
     R"({"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"f","arguments":{}}}]})"},
    {"openai_chat",
     providers::make_openai_chat,
     "gpt-5",
     R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]})"},
    {"openai_responses",
     providers::make_openai_responses,
     "gpt-5",
     R"([{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}])"},
};

}  // namespace

TEST_CASE("wire: a turn's request begins with the one before it", "[providers]") {
  for (const Protocol& protocol : k_protocols) {
    CAPTURE(protocol.name);
    const auto wire = protocol.make({.provider = "p",
                                     .model = protocol.model,
                                     .base_url = "http://h",
                                     .quirks = {.cache_control = true}});
    const std::vector<agent::ToolInfo> tools = {{.name = "f", .parameters = "{}"}};
    agent::Conversation conversation{{agent::UserMessage{"Hi"}}};
    const agent::ModelRequest request{
        .instructions = "Be brief", .tools = tools, .conversation = conversation};
    std::string body = wire->body_head(request);
    wire->append_messages(body, conversation.messages, nullptr);
    for (int turn = 0; turn < 3; ++turn) {
      CHECK(agent::parse_json(body + wire->body_tail(request)));
      const std::string before = body;
      const agent::Message previous = conversation.messages.back();
      const std::vector<agent::Message> added = {
          agent::AssistantMessage{agent::Reply{
              .tool_calls = {{"c", "f", "{}"}}, .raw = protocol.raw, .protocol = protocol.name}},
          agent::ToolMessage{"c", "f", "out", false}};
      conversation.messages.insert(conversation.messages.end(), added.begin(), added.end());
      wire->append_messages(body, added, &previous);
      CHECK(body.starts_with(before));
      CHECK(wire->body_head(request) == body.substr(0, wire->body_head(request).size()));

      std::string at_once = wire->body_head(request);
      wire->append_messages(at_once, conversation.messages, nullptr);
      CHECK(at_once == body);
    }
  }
}
