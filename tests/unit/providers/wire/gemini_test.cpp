#include "agent/json.h"
#include "providers/wire/wire.h"
#include "tests/unit/providers/wire/wire_cases.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
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

constexpr std::string_view k_studio = "https://generativelanguage.googleapis.com/v1beta";

providers::WireSettings settings(std::string_view base_url = k_studio) {
  providers::WireSettings result{.provider = "gemini",
                                 .model = "gemini-2.5-flash",
                                 .base_url = std::string(base_url),
                                 .api_key = "key"};
  result.quirks = providers::default_quirks(result.provider, base_url);
  return result;
}

std::unique_ptr<providers::Wire> gemini(std::string_view base_url = k_studio) {
  return providers::make_gemini(settings(base_url));
}

// One chunk with these parts; as the server sends it, with CRLF.
std::string object(std::string_view parts, std::string_view finish = "") {
  return fmt::format(
      R"({{"candidates":[{{"content":{{"role":"model","parts":[{}]}}{},"index":0}}],)"
      R"("modelVersion":"m-1","responseId":"r"}})",
      parts,
      finish.empty() ? "" : fmt::format(R"(,"finishReason":"{}")", finish));
}
std::string chunk(std::string_view parts, std::string_view finish = "") {
  return "data: " + object(parts, finish) + "\r\n\r\n";
}
std::string usage(std::string_view inside) {
  return fmt::format("data: {{\"usageMetadata\":{{{}}}}}\r\n\r\n", inside);
}

Reply read(const std::string& body) {
  return tests::read(*gemini(), body);
}

std::string_view failure(const std::string& body) {
  return tests::failure(*gemini(), body);
}

}  // namespace

TEST_CASE("gemini: text, thoughts and usage of a stream", "[providers]") {
  const std::string body =
      usage(R"("promptTokenCount":9,"trafficType":"X")") + chunk(R"({"text":"H","thought":true})") +
      chunk(R"({"text":"m","thought":true})") + chunk(R"({"text":"Hel"})") +
      chunk(R"({"text":"lo"})", "STOP") +
      usage(R"("promptTokenCount":9,"candidatesTokenCount":4,"thoughtsTokenCount":3,)"
            R"("cachedContentTokenCount":2,"totalTokenCount":16)");
  const auto played = tests::play(*gemini(), body);
  REQUIRE(played.reply);
  CHECK(played.text == "Hello");
  CHECK(played.reasoning == "Hm");
  const Reply& reply = *played.reply;
  CHECK(reply.text == "Hello");
  CHECK(reply.reasoning == "Hm");
  CHECK(reply.stop_reason == StopReason::end_turn);
  CHECK(reply.stop_reason_raw == "STOP");
  CHECK(reply.model == "m-1");
  CHECK(reply.protocol == "gemini");
  CHECK(reply.usage == agent::Usage{.input = 9, .output = 7, .cache_read = 2, .reasoning = 3});
  CHECK(reply.raw == R"([{"text":"Hm","thought":true},{"text":"Hello"}])");
}

TEST_CASE("gemini: one body, and a stream as one array", "[providers]") {
  CHECK(read(object(R"({"text":"Hi"})", "STOP")).text == "Hi");
  CHECK(
      read("[" + object(R"({"text":"H"})") + "\r\n,\r\n" + object(R"({"text":"i"})", "STOP") + "]")
          .text == "Hi");
}

TEST_CASE("gemini: a signature stays on the part that it came on", "[providers]") {
  const Reply reply =
      read(chunk(R"({"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"sig1"})") +
           chunk(R"({"functionCall":{"name":"g","id":"g1"}})") + chunk(R"({"text":"a"})") +
           chunk(R"({"text":"","thoughtSignature":"sig2"})", "STOP"));
  CHECK(reply.raw == R"([{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"sig1"},)"
                     R"({"functionCall":{"name":"g","id":"g1","args":{}}},)"
                     R"({"text":"a"},{"text":"","thoughtSignature":"sig2"}])");
  REQUIRE(reply.tool_calls.size() == 2);
  CHECK_FALSE(reply.tool_calls[0].id.empty());
  CHECK(reply.tool_calls[0].arguments == R"({"x":1})");
  CHECK(reply.tool_calls[1] == ToolCall{"g1", "g", "{}"});
  CHECK(reply.stop_reason == StopReason::tool_use);  // it says STOP for calls, too
}

TEST_CASE("gemini: arguments in pieces", "[providers]") {
  const Reply reply = read(
      chunk(R"({"functionCall":{"name":"f","willContinue":true}})") +
      chunk(R"({"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Par",)"
            R"("willContinue":true}],"willContinue":true}})") +
      chunk(R"({"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"is"},)"
            R"({"jsonPath":"$.days[0]","numberValue":3},{"jsonPath":"$.sure","boolValue":true},)"
            R"({"jsonPath":"$.none","nullValue":null}],"willContinue":true}})") +
      chunk(R"({"functionCall":{}})") + chunk(R"({"functionCall":{"name":"g"}})", "STOP"));
  REQUIRE(reply.tool_calls.size() == 2);
  CHECK(nlohmann::json::parse(reply.tool_calls[0].arguments) ==
        nlohmann::json({{"city", "Paris"}, {"days", {3}}, {"sure", true}, {"none", nullptr}}));
  CHECK(reply.tool_calls[1].arguments == "{}");
}

TEST_CASE("gemini: pieces of arguments that belong nowhere are no answer", "[providers]") {
  const std::string begin = chunk(R"({"functionCall":{"name":"f","willContinue":true}})");
  for (const std::string_view path : {"", "$", "$..a", "$.a[4000000000]"}) {
    CAPTURE(path);
    CHECK(
        failure(
            begin +
            chunk(
                fmt::format(
                    R"({{"functionCall":{{"partialArgs":[{{"jsonPath":"{}","numberValue":1}}]}}}})",
                    path),
                "STOP")) == "provider.bad_response");
  }
  const std::string a = R"({"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x")";
  for (const std::string& pieces : std::vector<std::string>{
           chunk(a + R"(},{"jsonPath":"$.a.b","stringValue":"y"}]}})"),
           chunk(a + R"(},{"jsonPath":"$.a","numberValue":1}]}})"),
           chunk(a + R"(,"numberValue":1}]}})"),
           chunk(a + R"(,"willContinue":true}]}})"),
           chunk(a + R"(}],"willContinue":true}})") + chunk(R"({"text":"t"})"),
           chunk(R"({"functionCall":{"partialArgs":[{"jsonPath":"$.a[5]","numberValue":1}]}})")}) {
    CAPTURE(pieces);
    CHECK(failure(begin + pieces + chunk("", "STOP")) == "provider.bad_response");
  }
  CHECK(failure(chunk(R"({"functionCall":{"name":"f","args":{"a":"/"},"partialArgs":[)"
                      R"({"jsonPath":"$.a","stringValue":"x"}]}})",
                      "STOP")) == "provider.bad_response");
  CHECK(failure(chunk(a + "}]}}", "STOP")) == "provider.bad_response");
  for (const std::string_view end : {R"({"functionCall":{"partialArgs":"x"}})",
                                     R"({"functionCall":{"args":{"a":1}}})",
                                     R"({"functionCall":{"name":"g"}})",
                                     R"({"functionCall":{"willContinue":true}})"}) {
    CAPTURE(end);
    CHECK(failure(begin + chunk(std::string(end), "STOP")) == "provider.bad_response");
  }
  CHECK(
      read(begin + chunk(R"({"functionCall":{"willContinue":true}})", "MAX_TOKENS")).stop_reason ==
      StopReason::max_tokens);
}

TEST_CASE("gemini: why it stopped", "[providers]") {
  const auto [word, reason] = GENERATE(table<std::string, StopReason>({
      {"STOP", StopReason::end_turn},
      {"MAX_TOKENS", StopReason::max_tokens},
      {"SAFETY", StopReason::content_filter},
      {"MALFORMED_FUNCTION_CALL", StopReason::malformed_tool_call},
  }));
  CAPTURE(word);
  CHECK(read(chunk("", word)).stop_reason == reason);
  CHECK(read(chunk("", "FINISH_REASON_UNSPECIFIED") + chunk("", word)).stop_reason == reason);
  // All was thought: there is no content at all.
  CHECK(read(fmt::format(R"({{"candidates":[{{"finishReason":"{}"}}]}})", word)).stop_reason ==
        reason);
}

TEST_CASE("gemini: a blocked prompt has no candidates", "[providers]") {
  for (const std::string_view why : {"SAFETY", "OTHER", "STOP", "SOMETHING_NEW"}) {
    CHECK(read(fmt::format(R"({{"promptFeedback":{{"blockReason":"{}"}}}})", why)).stop_reason ==
          StopReason::content_filter);
  }
}

TEST_CASE("gemini: a stream without a finish reason is broken, and what is no answer is bad",
          "[providers]") {
  CHECK(failure(chunk(R"({"text":"Hi"})")) == "provider.stream_broken");
  CHECK(failure(object(R"({"text":"Hi"})")) == "provider.stream_broken");
  CHECK(failure("<html>") == "provider.bad_response");
  CHECK(failure("{}") == "provider.bad_response");
  CHECK(failure("[1]") == "provider.bad_response");
  CHECK(
      failure(R"([{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}])") ==
      "provider.rate_limited");
  CHECK(failure(R"(data: {"error":{"code":503,"message":"x","status":"UNAVAILABLE"}})"
                "\r\n\r\n") == "provider.unavailable");
}

TEST_CASE("gemini: any cut of a stream gives the same reply", "[providers]") {
  const std::string body = chunk("{\"text\":\"gr\xC3\xBC\xC3\x9F dich\"}") +
                           chunk(R"({"functionCall":{"name":"f","args":{"x":"é"}}})", "STOP") +
                           usage(R"("promptTokenCount":1)");
  tests::check_any_cut(*gemini(), body);
}

TEST_CASE("gemini: broken bytes give an answer or an error, never a crash", "[providers]") {
  const std::string body =
      chunk(R"({"text":"x"})") +
      chunk(R"({"functionCall":{"name":"f","willContinue":true,"partialArgs":[)"
            R"({"jsonPath":"$.a[0].b","stringValue":"x"}]}})") +
      chunk(R"({"functionCall":{}})", "STOP");
  CHECK(tests::answers_of_broken_bytes(*gemini(), body) > 0);
}

TEST_CASE("gemini: a request is head, turns and tail", "[providers]") {
  const std::vector<agent::ToolInfo> tools = {
      {.name = "f", .description = "Does", .parameters = "{ \"type\": \"object\" }"}};
  const agent::Conversation conversation;
  const agent::ModelRequest request{
      .instructions = "Be brief", .tools = tools, .conversation = conversation};
  providers::WireSettings own = settings();
  own.temperature = 0.5;
  own.max_output_tokens = 100;
  own.reasoning = "low";
  const auto wire = providers::make_gemini(own);
  CHECK(
      wire->body_head(request) ==
      R"({"systemInstruction":{"parts":[{"text":"Be brief"}]},"tools":[{"functionDeclarations":[)"
      R"({"name":"f","description":"Does","parametersJsonSchema":{"type":"object"}}]}],"contents":[)");
  CHECK(wire->body_tail(request) ==
        R"(],"generationConfig":{"maxOutputTokens":100,"temperature":0.5,)"
        R"("thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}}})");
  own.model = "gemini-3-pro-preview";
  CHECK(providers::make_gemini(own)->body_tail(request).find(R"("thinkingLevel":"LOW")") !=
        std::string::npos);
  CHECK(gemini()->body_tail({.conversation = conversation}) == "]}");
}

TEST_CASE("gemini: turns in the protocol's form", "[providers]") {
  const std::vector<agent::Message> messages = {
      agent::UserMessage{"Hi"},
      agent::AssistantMessage{agent::Reply{
          .text = "",
          .tool_calls = {{"g1", "f", "{}"}, {"made", "g", "{}"}},
          .raw = R"([{"functionCall":{"name":"f","id":"g1"}},{"functionCall":{"name":"g"}}])",
          .protocol = "gemini"}},
      agent::ToolMessage{"g1", "f", "out", false},
      agent::ToolMessage{"made", "g", "bad", true},
      agent::UserMessage{"Go on"},
      agent::AssistantMessage{agent::Reply{.text = "So", .tool_calls = {{"a", "F", R"({"x":1})"}}}},
      agent::ToolMessage{"a", "f", "repaired", false},
  };
  CHECK(
      tests::encoded(*gemini(), messages) ==
      R"({"role":"user","parts":[{"text":"Hi"}]},)"
      R"({"role":"model","parts":[{"functionCall":{"name":"f","id":"g1"}},)"
      R"({"functionCall":{"name":"g"}}]},)"
      R"({"role":"user","parts":[{"functionResponse":{"id":"g1","name":"f","response":{"result":"out"}}},)"
      R"({"functionResponse":{"name":"g","response":{"error":"bad"}}},{"text":"Go on"}]},)"
      R"({"role":"model","parts":[{"text":"So"},{"functionCall":{"name":"F","args":{"x":1}}}]},)"
      R"({"role":"user","parts":[{"functionResponse":{"name":"F","response":{"result":"repaired"}}})");
}

TEST_CASE("gemini: a newer model hears that another one's calls have no signature", "[providers]") {
  const std::vector<agent::Message> messages = {agent::AssistantMessage{
      agent::Reply{.text = "So", .tool_calls = {{"a", "f", "{}"}, {"b", "g", "{}"}}}}};
  providers::WireSettings own = settings();
  own.model = "gemini-3-pro-preview";
  std::string body;
  providers::make_gemini(own)->append_messages(body, messages, nullptr);
  CHECK(body == R"({"role":"model","parts":[{"text":"So"},{"functionCall":{"name":"f","args":{}},)"
                R"("thoughtSignature":"skip_thought_signature_validator"},)"
                R"({"functionCall":{"name":"g","args":{}}})");
  std::string older;
  gemini()->append_messages(older, messages, nullptr);
  CHECK_FALSE(older.contains("thoughtSignature"));
}

TEST_CASE("gemini: addresses and credentials of AI Studio and of Vertex", "[providers]") {
  CHECK(gemini()->url() ==
        std::string(k_studio) + "/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
  CHECK(agent::header(gemini()->headers(), "x-goog-api-key") == "key");
  providers::WireSettings plain = settings();
  plain.stream = false;
  plain.model = "tunedModels/mine";
  CHECK(providers::make_gemini(plain)->url() ==
        std::string(k_studio) + "/tunedModels/mine:generateContent");
  const auto vertex = gemini(
      "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/"
      "publishers/google");
  CHECK(agent::header(vertex->headers(), "authorization") == "Bearer key");
  CHECK(agent::header(vertex->headers(), "x-goog-api-key").empty());
}
