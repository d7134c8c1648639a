#include "agent/json.h"
#include "providers/wire/wire.h"
#include "tests/unit/providers/wire/wire_cases.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using agent::Reply;
using agent::StopReason;
using agent::ToolCall;
using Calls = std::vector<ToolCall>;

providers::WireSettings settings(std::string model = "qwen3:4b") {
  return {.provider = "ollama", .model = std::move(model), .base_url = "http://127.0.0.1:11434"};
}

std::unique_ptr<providers::Wire> ollama() {
  return providers::make_ollama(settings());
}

std::string line(std::string_view message) {
  return R"({"model":"m-1","created_at":"2026","message":{"role":"assistant",)" +
         std::string(message) + "},\"done\":false}\n";
}
std::string end(std::string_view reason = "stop") {
  return R"({"model":"m-1","message":{"role":"assistant","content":""},"done":true,"done_reason":")" +
         std::string(reason) + "\",\"prompt_eval_count\":9,\"eval_count\":4}\n";
}

Reply read(const std::string& body) {
  return tests::read(*ollama(), body);
}

std::string_view failure(const std::string& body) {
  return tests::failure(*ollama(), body);
}

}  // namespace

TEST_CASE("ollama: thoughts, text and usage of a stream", "[providers]") {
  const auto played =
      tests::play(*ollama(),
                  line(R"("content":"","thinking":"H")") + line(R"("content":"","thinking":"m")") +
                      line(R"("content":"Hel")") + line(R"("content":"lo")") + end());
  REQUIRE(played.reply);
  CHECK(played.text == "Hello");
  CHECK(played.reasoning == "Hm");
  const Reply& reply = *played.reply;
  CHECK(reply.text == "Hello");
  CHECK(reply.reasoning == "Hm");
  CHECK(reply.stop_reason == StopReason::end_turn);
  CHECK(reply.stop_reason_raw == "stop");
  CHECK(reply.model == "m-1");
  CHECK(reply.protocol == "ollama");
  CHECK(reply.usage == agent::Usage{.input = 9, .output = 4});
  CHECK(reply.raw == R"({"role":"assistant","content":"Hello","thinking":"Hm"})");
}

TEST_CASE("ollama: an answer in one piece, and one over several lines", "[providers]") {
  CHECK(read(R"({"message":{"content":"Hi"},"done":true})").text == "Hi");
  CHECK(read("{\n  \"message\": {\"content\": \"Hi\"},\n  \"done\": true\n}\n").text == "Hi");
}

TEST_CASE("ollama: calls come whole, with or without an id", "[providers]") {
  const Reply reply =
      read(line(R"("content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f",)"
                R"("arguments":{"x":1}}}])") +
           line(R"("content":"","tool_calls":[{"function":{"name":"g","arguments":{}}},)"
                R"({"function":{"name":"g"}}])") +
           end());
  REQUIRE(reply.tool_calls.size() == 3);
  CHECK(reply.tool_calls[0] == ToolCall{"c1", "f", R"({"x":1})"});
  CHECK(reply.tool_calls[1].arguments == "{}");
  CHECK(reply.tool_calls[2].arguments == "{}");
  CHECK_FALSE(reply.tool_calls[1].id.empty());
  CHECK(reply.tool_calls[1].id != reply.tool_calls[2].id);
  CHECK(reply.stop_reason == StopReason::tool_use);  // it says stop for calls, too
  CHECK(reply.raw.empty());
}

TEST_CASE("ollama: why it stopped", "[providers]") {
  CHECK(read(end("length")).stop_reason == StopReason::max_tokens);
  CHECK(read(R"({"message":{"content":"x"},"done":true})").stop_reason == StopReason::end_turn);
}

TEST_CASE("ollama: what is no answer", "[providers]") {
  CHECK(failure("") == "provider.stream_broken");
  CHECK(failure(line(R"("content":"x")")) == "provider.stream_broken");
  CHECK(failure(line(R"("content":"x")") + "{\"message\":{\"content\":") ==
        "provider.stream_broken");
  CHECK(failure(line(R"("content":"x")") + R"({"error":"an error was encountered"})"
                                           "\n") == "provider.unavailable");
  CHECK(failure("<html>") == "provider.bad_response");
  for (const std::string stray : {"[1]", "oops", "\xFF", "1", "null", "}"}) {
    CHECK(failure(stray + "\n") == "provider.bad_response");
    CHECK(failure(line(R"("content":"x")") + stray + "\n" + end()) == "provider.bad_response");
  }
  CHECK(failure(line(R"("content":"x")") + std::string(1, '\0') + "\n" + end()) ==
        "provider.bad_response");
}

TEST_CASE("ollama: cut anywhere, and with broken bytes", "[providers]") {
  const std::string body =
      line(R"("content":"gr\u00fc\u00df dich \ud83d\ude0a")") +
      line("\"content\":\"\xF0\x9F\x98\x8A\"") +
      line(R"("content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":"é}"}}}])") +
      end();
  tests::check_any_cut(*ollama(), body);
  CHECK(tests::answers_of_broken_bytes(*ollama(), body) > 0);
}

TEST_CASE("ollama: a request is head, messages and tail", "[providers]") {
  const std::vector<agent::ToolInfo> tools = {
      {.name = "f", .description = "Does", .parameters = "{ \"type\": \"object\" }"}};
  const agent::Conversation conversation;
  const agent::ModelRequest request{
      .instructions = "Be brief", .tools = tools, .conversation = conversation};
  providers::WireSettings own = settings();
  own.temperature = 0.5;
  own.max_output_tokens = 100;
  own.reasoning = "high";
  const auto wire = providers::make_ollama(own);
  CHECK(wire->url() == "http://127.0.0.1:11434/api/chat");
  CHECK(wire->body_head(request) ==
        R"({"model":"qwen3:4b","tools":[{"type":"function","function":{"name":"f",)"
        R"("description":"Does","parameters":{"type":"object"}}}],)"
        R"("messages":[{"role":"system","content":"Be brief"})");
  CHECK(
      wire->body_tail(request) ==
      R"(],"options":{"num_ctx":8192,"num_predict":100,"temperature":0.5},"think":true,"stream":true})");
}

TEST_CASE("ollama: how much to think is a level for gpt-oss alone", "[providers]") {
  const auto tail = [](std::string model, std::string effort) {
    providers::WireSettings own = settings(std::move(model));
    own.reasoning = std::move(effort);
    return providers::make_ollama(own)->body_tail({.conversation = {}});
  };
  CHECK(tail("gpt-oss:20b", "xhigh").contains(R"("think":"high")"));
  CHECK(tail("gpt-oss:20b", "minimal").contains(R"("think":"low")"));
  CHECK(tail("gpt-oss:20b", "none").contains(R"("think":false)"));
  CHECK(tail("qwen3", "low").contains(R"("think":true)"));
  CHECK_FALSE(tail("qwen3", "").contains("think"));
}

TEST_CASE("ollama: the window holds the whole prompt, or the server would cut it", "[providers]") {
  const auto window = [](std::size_t bytes, std::size_t calls = 0) {
    agent::Conversation conversation{{agent::UserMessage{std::string(bytes, 'x')}}};
    for (std::size_t at = 0; at < calls; ++at) {
      conversation.messages.push_back(
          agent::AssistantMessage{agent::Reply{.tool_calls = {{"", "f", ""}}}});
    }
    const auto tail = ollama()->body_tail({.conversation = conversation});
    return agent::integer_at(agent::parse_json("{\"x\":[" + tail)->at("options"), "num_ctx");
  };
  constexpr std::size_t k_output = 2'048;
  CHECK(window(10) == 8'192);
  constexpr std::size_t k_frame = 60;  // around a message, and around a call
  CHECK(window((8'192 - k_output) * 3 - k_frame) == 8'192);
  CHECK(window((8'192 - k_output + 1) * 3 - k_frame) == 16'384);
  CHECK(window(0, 150) == 8'192);
  CHECK(window(0, 160) == 16'384);       // (1 + 2 * 160) * 60 / 3
  CHECK(window(10'000'000) == 1 << 22);  // too much is to be refused, not to be cut
}

TEST_CASE("ollama: messages in the protocol's form", "[providers]") {
  const std::vector<agent::Message> messages = {
      agent::UserMessage{"Hi"},
      agent::AssistantMessage{agent::Reply{.tool_calls = {{"c1", "F", "{}"}},
                                           .raw = R"({"role":"assistant","content":"","x":1})",
                                           .protocol = "ollama"}},
      agent::ToolMessage{"c1", "f", "out", false},
      agent::AssistantMessage{agent::Reply{.text = "So", .tool_calls = {{"a", "g", R"({"x":1})"}}}},
      agent::ToolMessage{"a", "g", "more", false},
      agent::AssistantMessage{agent::Reply{.text = "foreign", .raw = "[]", .protocol = "gemini"}},
  };
  CHECK(tests::encoded(*ollama(), messages) ==
        R"({"role":"user","content":"Hi"},{"role":"assistant","content":"","x":1},)"
        R"({"role":"tool","tool_name":"F","tool_call_id":"c1","content":"out"},)"
        R"({"role":"assistant","content":"So","tool_calls":[{"id":"a","function":{"name":"g",)"
        R"("arguments":{"x":1}}}]},)"
        R"({"role":"tool","tool_name":"g","tool_call_id":"a","content":"more"},)"
        R"({"role":"assistant","content":"foreign"})");
}
