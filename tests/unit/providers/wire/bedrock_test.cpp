#include "agent/json.h"
#include "providers/wire/wire.h"
#include "tests/support/event_stream.h"
#include "tests/unit/providers/wire/wire_cases.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using agent::Reply;
using agent::StopReason;
using agent::ToolCall;
using tests::big_endian;
using tests::checksum;
using tests::frame;
using tests::frame_of;
using tests::header;

providers::WireSettings settings(std::string model = "amazon.titan-text-lite-v1:0") {
  return {.provider = "bedrock",
          .model = std::move(model),
          .base_url = "https://bedrock-runtime.us-east-1.amazonaws.com"};
}

std::unique_ptr<providers::Wire> bedrock() {
  return providers::make_bedrock(settings());
}

std::string delta(int index, std::string_view inside) {
  return frame("contentBlockDelta",
               R"({"contentBlockIndex":)" + std::to_string(index) + R"(,"delta":)" +
                   std::string(inside) + R"(,"p":"abc"})");
}
std::string start_call(int index, std::string_view id, std::string_view name) {
  return frame("contentBlockStart",
               R"({"contentBlockIndex":)" + std::to_string(index) + R"(,"start":{"toolUse":{)" +
                   R"("toolUseId":")" + std::string(id) + R"(","name":")" + std::string(name) +
                   R"("}}})");
}
std::string stop(std::string_view reason = "end_turn") {
  return frame("messageStop", R"({"stopReason":")" + std::string(reason) + R"("})");
}
const std::string k_usage =
    frame("metadata",
          R"({"usage":{"inputTokens":9,"outputTokens":4,"cacheReadInputTokens":20,)"
          R"("cacheWriteInputTokens":3}})");

Reply read(const std::string& body) {
  return tests::read(*bedrock(), body);
}

std::string_view failure(const std::string& body) {
  return tests::failure(*bedrock(), body);
}

}  // namespace

TEST_CASE("bedrock: text, thoughts and usage of a stream", "[providers]") {
  const auto played = tests::play(*bedrock(),
                                  frame("messageStart", R"({"role":"assistant"})") +
                                      delta(0, R"({"reasoningContent":{"text":"H"}})") +
                                      delta(0, R"({"reasoningContent":{"text":"m"}})") +
                                      delta(0, R"({"reasoningContent":{"signature":"sig"}})") +
                                      delta(1, R"({"text":"Hel"})") + delta(1, R"({"text":"lo"})") +
                                      delta(2, R"({"text":" "})") + stop() + k_usage);
  REQUIRE(played.reply);
  CHECK(played.text == "Hello ");
  CHECK(played.reasoning == "Hm");
  const Reply& reply = *played.reply;
  CHECK(reply.text == "Hello ");
  CHECK(reply.reasoning == "Hm");
  CHECK(reply.stop_reason == StopReason::end_turn);
  CHECK(reply.protocol == "bedrock");
  CHECK(reply.usage == agent::Usage{.input = 32, .output = 4, .cache_read = 20, .cache_write = 3});
  // Blank text would be refused when it comes back.
  CHECK(
      reply.raw ==
      R"([{"reasoningContent":{"reasoningText":{"text":"Hm","signature":"sig"}}},{"text":"Hello"}])");
}

TEST_CASE("bedrock: a piece of a call's input is of one that has begun", "[providers]") {
  const std::string piece = R"({"toolUse":{"input":"{}"}})";
  const std::string call = start_call(1, "a", "f");
  CHECK(read(call + delta(1, piece) + stop("tool_use") + k_usage).tool_calls.size() == 1);
  CHECK(failure(call + delta(0, piece) + stop("tool_use")) == "provider.bad_response");
  CHECK(failure(call + delta(-1, piece) + stop("tool_use")) == "provider.bad_response");
  CHECK(failure(delta(0, R"({"text":"a"})") + delta(0, piece) + stop("tool_use")) ==
        "provider.bad_response");
}

TEST_CASE("bedrock: a piece that is of the wrong type, or is missing", "[providers]") {
  const std::string text = delta(0, R"({"text":"a"})");
  const std::string call = start_call(1, "a", "f");
  CHECK(read(text + delta(0, R"({"later":7})") + stop() + k_usage).text == "a");
  for (const std::string& wrong :
       {delta(0, R"({"text":7})"),
        delta(0, R"({"text":null})"),
        delta(0, "null"),
        delta(0, "7"),
        frame("contentBlockDelta", R"({"contentBlockIndex":0})"),
        frame("contentBlockStart", R"({"contentBlockIndex":1,"start":{"toolUse":7}})"),
        frame("contentBlockStart",
              R"({"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"b","name":7}}})"),
        call + delta(1, R"({"toolUse":7})"),
        call + delta(1, R"({"toolUse":{"input":null}})")}) {
    CHECK(failure(text + wrong + stop() + k_usage) == "provider.bad_response");
  }
}

TEST_CASE("bedrock: no piece comes behind the end of its block", "[providers]") {
  const std::string text = delta(0, R"({"text":"a"})");
  const std::string end = frame("contentBlockStop", R"({"contentBlockIndex":0})");
  CHECK(read(text + end + delta(1, R"({"text":"b"})") + stop() + k_usage).text == "ab");
  CHECK(failure(text + end + text + stop() + k_usage) == "provider.bad_response");
}

TEST_CASE("bedrock: calls in pieces, and thoughts that are sealed", "[providers]") {
  const Reply reply = read(
      delta(0, R"({"reasoningContent":{"redactedContent":"c2Vh"}})") + start_call(1, "t1", "f") +
      delta(1, R"({"toolUse":{"input":"{\"x\""}})") + delta(1, R"({"toolUse":{"input":":1}"}})") +
      start_call(2, "t1", "g") + stop("tool_use") + k_usage);
  REQUIRE(reply.tool_calls.size() == 2);
  CHECK(reply.tool_calls[0] == ToolCall{"t1", "f", R"({"x":1})"});
  CHECK(reply.tool_calls[1].name == "g");
  CHECK(reply.tool_calls[1].arguments == "{}");
  CHECK(reply.tool_calls[1].id != "t1");
  CHECK(reply.stop_reason == StopReason::tool_use);
  CHECK(reply.raw == R"([{"reasoningContent":{"redactedContent":"c2Vh"}},)"
                     R"({"toolUse":{"toolUseId":"t1","name":"f","input":{"x":1}}},)"
                     R"({"toolUse":{"toolUseId":")" +
                         reply.tool_calls[1].id + R"(","name":"g","input":{}}}])");
}

TEST_CASE("bedrock: an answer in one body", "[providers]") {
  const Reply reply =
      read(R"({"output":{"message":{"role":"assistant","content":[{"text":"Hi"},)"
           R"({"toolUse":{"toolUseId":"t","name":"f","input":{"x":1}}}]}},"stopReason":"end_turn",)"
           R"("usage":{"inputTokens":1,"outputTokens":2}})");
  CHECK(reply.text == "Hi");
  CHECK(reply.tool_calls == std::vector{ToolCall{"t", "f", R"({"x":1})"}});
  CHECK(reply.stop_reason == StopReason::tool_use);
  CHECK(reply.usage == agent::Usage{.input = 1, .output = 2});
}

TEST_CASE("bedrock: why it stopped", "[providers]") {
  const auto [word, reason] = GENERATE(table<std::string, StopReason>({
      {"max_tokens", StopReason::max_tokens},
      {"stop_sequence", StopReason::stop_sequence},
      {"guardrail_intervened", StopReason::guardrail_intervened},
      {"content_filtered", StopReason::content_filter},
      {"malformed_tool_use", StopReason::malformed_tool_call},
      {"model_context_window_exceeded", StopReason::context_window},
  }));
  CHECK(read(delta(0, R"({"text":"x"})") + stop(word) + k_usage).stop_reason == reason);
}

TEST_CASE("bedrock: an exception in the stream is the error that it names", "[providers]") {
  const auto exception = [](std::string_view type) {
    return frame_of(header(":message-type", "exception") + header(":exception-type", type),
                    R"({"message":"Too fast"})");
  };
  const std::string begun = delta(0, R"({"text":"x"})");
  CHECK(failure(exception("throttlingException")) == "provider.rate_limited");
  CHECK(failure(begun + exception("serviceUnavailableException")) == "provider.unavailable");
  CHECK(failure(begun + exception("modelStreamErrorException")) == "provider.unavailable");
  CHECK(failure(exception("validationException")) == "provider.invalid_request");
  CHECK(failure(frame_of(header(":message-type", "error") + header(":error-code", "Internal") +
                             header(":error-message", "It broke"),
                         "")) == "provider.unavailable");
}

TEST_CASE("bedrock: frames that are cut, damaged or no frames", "[providers]") {
  const std::string body = delta(0, R"({"text":"x"})") + stop() + k_usage;
  CHECK(failure("") == "provider.stream_broken");
  CHECK(failure(delta(0, R"({"text":"x"})")) == "provider.stream_broken");
  CHECK(failure(delta(0, R"({"text":"x"})") + stop().substr(0, 20)) == "provider.stream_broken");
  CHECK(failure("<html>") == "provider.bad_response");
  for (const std::size_t at : {3u, 9u, 20u, 60u}) {  // length, checksum, headers, payload
    std::string damaged = body;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    CHECK(failure(damaged) == "provider.bad_response");
  }
  CHECK(failure(std::string("\0\0\0\x10", 4) + std::string("\xFF\xFF\xFF\xFF", 4) + "abcd") ==
        "provider.bad_response");
}

TEST_CASE("bedrock: headers of every type are passed over", "[providers]") {
  std::string headers;
  for (const auto& [type, size] : std::vector<std::pair<int, int>>{
           {0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 4}, {5, 8}, {8, 8}, {9, 16}}) {
    headers += "\x01h" + big_endian(static_cast<std::size_t>(type), 1) +
               std::string(static_cast<std::size_t>(size), 'v');
  }
  headers += "\x01h\x06" + big_endian(3, 2) + "abc";
  headers += header(":message-type", "event") + header(":event-type", "contentBlockDelta");
  CHECK(read(frame_of(headers, R"({"contentBlockIndex":0,"delta":{"text":"x"}})") + stop()).text ==
        "x");
}

TEST_CASE("bedrock: cut anywhere, and with broken bytes", "[providers]") {
  const std::string body =
      frame("messageStart", R"({"role":"assistant"})") +
      delta(0, R"({"text":"gr\u00fc\u00df \ud83d\ude0a"})") + start_call(1, "t1", "f") +
      delta(1, R"({"toolUse":{"input":"{\"x\":\"é\"}"}})") + stop("tool_use") + k_usage;
  tests::check_any_cut(*bedrock(), body);
  tests::answers_of_broken_bytes(*bedrock(), body);  // a checksum finds nearly all of them
}

TEST_CASE("bedrock: a request is head, turns and tail", "[providers]") {
  const std::vector<agent::ToolInfo> tools = {
      {.name = "f", .description = "Does", .parameters = "{ \"type\": \"object\" }"}};
  const agent::Conversation conversation{{agent::UserMessage{"Hi"}}};
  const agent::ModelRequest request{
      .instructions = "Be brief", .tools = tools, .conversation = conversation};
  CHECK(bedrock()->url() ==
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.titan-text-lite-v1%3A0/"
        "converse-stream");
  CHECK(bedrock()->body_head(request) ==
        R"({"system":[{"text":"Be brief"}],"toolConfig":{"tools":[{"toolSpec":{"name":"f",)"
        R"("description":"Does","inputSchema":{"json":{"type":"object"}}}}]},"messages":[)");
  CHECK(bedrock()->body_tail(request) == R"(]}],"inferenceConfig":{}})");
  providers::WireSettings own = settings("us.anthropic.claude-sonnet-4-5-20250929-v1:0");
  own.max_output_tokens = 4'000;
  own.temperature = 1;
  own.reasoning = "low";
  own.stream = false;
  const auto claude = providers::make_bedrock(own);
  CHECK(claude->url().ends_with("-v1%3A0/converse"));
  CHECK(claude->body_head(request).contains(
      R"("system":[{"text":"Be brief"},{"cachePoint":{"type":"default"}}])"));
  CHECK(claude->body_head(request).contains(R"(}}},{"cachePoint":{"type":"default"}}]})"));
  CHECK(
      claude->body_tail(request) ==
      R"(,{"cachePoint":{"type":"default"}}]}],"inferenceConfig":{"maxTokens":4000,"temperature":1},)"
      R"("additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2000}}})");
}

TEST_CASE("bedrock: the two sides take turns", "[providers]") {
  const std::vector<agent::Message> messages = {
      agent::UserMessage{"Hi"},
      agent::UserMessage{"Say something"},
      agent::AssistantMessage{agent::Reply{.tool_calls = {{"t1", "f", "{}"}, {"t2", "f", "{}"}},
                                           .raw = R"([{"x":1}])",
                                           .protocol = "bedrock"}},
      agent::ToolMessage{"t1", "f", "out", false},
      agent::ToolMessage{"t2", "f", "", true},
      agent::UserMessage{"Go on"},
      agent::AssistantMessage{agent::Reply{.text = "So", .tool_calls = {{"a", "g", R"({"x":1})"}}}},
  };
  CHECK(tests::encoded(*bedrock(), messages) ==
        R"({"role":"user","content":[{"text":"Hi"},{"text":"Say something"}]},)"
        R"({"role":"assistant","content":[{"x":1}]},{"role":"user","content":[)"
        R"({"toolResult":{"toolUseId":"t1","content":[{"text":"out"}],"status":"success"}},)"
        R"x({"toolResult":{"toolUseId":"t2","content":[{"text":"(empty)"}],"status":"error"}},)x"
        R"({"text":"Go on"}]},{"role":"assistant","content":[{"text":"So"},)"
        R"({"toolUse":{"toolUseId":"a","name":"g","input":{"x":1}}})");
}
