// How an answer ends, in all protocols: streamed or whole, the same word means the same, and a word
// that no table has ends no answer.
#include "agent/error.h"
#include "providers/wire/wire.h"
#include "tests/support/event_stream.h"
#include "tests/support/play.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);
using Body = std::string (*)(const std::string& word);  // the word as JSON: text in quotes, or null

struct Ending {
  std::string word;
  std::string_view end;  // a stop reason, or the code of an error
};

struct Dialect {
  Make make;
  Body streamed;
  Body whole;
  std::vector<Ending> endings;
};

constexpr std::string_view k_broken = "provider.stream_broken";

std::string sse(const std::string& json) {
  return "data: " + json + "\n\n";
}

std::string end_of(const Dialect& dialect, const std::string& body) {
  const auto wire = dialect.make(
      {.provider = "p", .model = "gemini-2.5-flash", .base_url = "http://h", .stream = true});
  const auto played = tests::play(*wire, body);
  CHECK(played.text == "I will now del");
  return std::string(played.reply ? to_string(played.reply->stop_reason)
                                  : agent::row(played.reply.error().code).name);
}

void check(const Dialect& dialect) {
  for (const auto& [word, end] : dialect.endings) {
    CAPTURE(word);
    const std::string json = word == "null" ? word : '"' + word + '"';
    CHECK(end_of(dialect, dialect.streamed(json)) == end);
    CHECK(end_of(dialect, dialect.whole(json)) == end);
  }
}

}  // namespace

TEST_CASE("endings: openai_chat", "[providers]") {
  check({.make = providers::make_openai_chat,
         .streamed =
             [](const std::string& word) {
               return sse(R"({"choices":[{"index":0,"delta":{"content":"I will now del"}}]})") +
                      sse(R"({"choices":[{"index":0,"delta":{},"finish_reason":)" + word + "}]}") +
                      "data: [DONE]\n\n";
             },
         .whole =
             [](const std::string& word) {
               return R"({"choices":[{"index":0,"message":{"content":"I will now del"},)"
                      R"("finish_reason":)" +
                      word + "}]}";
             },
         .endings = {{"stop", "end_turn"},
                     {"STOP", "end_turn"},
                     {"end_turn", "end_turn"},
                     {"eos", "end_turn"},
                     {"eos_token", "end_turn"},
                     {"COMPLETE", "end_turn"},
                     {"stop_sequence", "stop_sequence"},
                     {"tool_calls", "tool_use"},
                     {"length", "max_tokens"},
                     {"content_filter", "content_filter"},
                     {"content_filter: RECITATION", "content_filter"},
                     {"model_context_window_exceeded", "context_window"},
                     {"function_call_filter: UNEXPECTED_TOOL_CALL", "malformed_tool_call"},
                     {"null", "unknown"},
                     {"", "unknown"},
                     {"abort", k_broken},
                     {"canceled", k_broken},
                     {"timeout", k_broken},
                     {"error", k_broken},
                     {"insufficient_system_resource", k_broken},
                     {": stop", k_broken},
                     {"something_new", k_broken}}});
}

TEST_CASE("endings: anthropic_messages", "[providers]") {
  check({.make = providers::make_anthropic_messages,
         .streamed =
             [](const std::string& word) {
               return sse(R"({"type":"message_start","message":{"id":"m","content":[]}})") +
                      sse(R"({"type":"content_block_start","index":0,)"
                          R"("content_block":{"type":"text","text":""}})") +
                      sse(R"({"type":"content_block_delta","index":0,)"
                          R"("delta":{"type":"text_delta","text":"I will now del"}})") +
                      sse(R"({"type":"message_delta","delta":{"stop_reason":)" + word + "}}") +
                      sse(R"({"type":"message_stop"})");
             },
         .whole =
             [](const std::string& word) {
               return R"({"content":[{"type":"text","text":"I will now del"}],"stop_reason":)" +
                      word + "}";
             },
         .endings = {{"end_turn", "end_turn"},
                     {"max_tokens", "max_tokens"},
                     {"stop_sequence", "stop_sequence"},
                     {"pause_turn", "pause"},
                     {"refusal", "refusal"},
                     {"model_context_window_exceeded", "context_window"},
                     {"null", k_broken},
                     {"", k_broken},
                     {"overloaded", k_broken},
                     {"something_new", k_broken}}});
}

TEST_CASE("endings: openai_responses", "[providers]") {
  check({.make = providers::make_openai_responses,
         .streamed =
             [](const std::string& word) {
               return sse(R"({"type":"response.completed","response":{"status":)" + word +
                          R"(,"output":[{"type":"message","content":[{"type":"output_text",)"
                          R"("text":"I will now del"}]}]}})");
             },
         .whole =
             [](const std::string& word) {
               return R"({"status":)" + word +
                      R"(,"output":[{"type":"message","content":[{"type":"output_text",)"
                      R"("text":"I will now del"}]}]})";
             },
         .endings = {{"completed", "end_turn"},
                     {"in_progress", k_broken},
                     {"queued", k_broken},
                     {"failed", k_broken},
                     {"cancelled", k_broken},
                     {"incomplete", k_broken},
                     {"something_new", k_broken}}});
}

TEST_CASE("endings: openai_responses without a status ends by its last event alone",
          "[providers]") {
  const Dialect dialect{
      .make = providers::make_openai_responses, .streamed = {}, .whole = {}, .endings = {}};
  const std::string output =
      R"("output":[{"type":"message","content":[{"type":"output_text","text":"I will now del"}]}]})";
  CHECK(end_of(dialect, "{" + output) == k_broken);
  CHECK(end_of(dialect, R"({"status":null,)" + output) == k_broken);
  CHECK(end_of(dialect, sse(R"({"type":"response.completed","response":{)" + output + "}")) ==
        "end_turn");
}

TEST_CASE("endings: openai_responses says why an answer is not complete", "[providers]") {
  check({.make = providers::make_openai_responses,
         .streamed =
             [](const std::string& word) {
               return sse(
                   R"({"type":"response.incomplete","response":{"incomplete_details":{"reason":)" +
                   word +
                   R"(},"output":[{"type":"message","content":[{"type":"output_text",)"
                   R"("text":"I will now del"}]}]}})");
             },
         .whole =
             [](const std::string& word) {
               return R"({"status":"incomplete","incomplete_details":{"reason":)" + word +
                      R"(},"output":[{"type":"message","content":[{"type":"output_text",)"
                      R"("text":"I will now del"}]}]})";
             },
         .endings = {{"max_output_tokens", "max_tokens"},
                     {"content_filter", "content_filter"},
                     {"null", k_broken},
                     {"something_new", k_broken}}});
}

TEST_CASE("endings: gemini", "[providers]") {
  constexpr Body k_whole = [](const std::string& word) {
    return R"({"candidates":[{"content":{"role":"model","parts":[{"text":"I will now del"}]},)"
           R"("finishReason":)" +
           word + R"(,"index":0}]})";
  };
  check({.make = providers::make_gemini,
         .streamed = [](const std::string& word) { return sse(k_whole(word)); },
         .whole = k_whole,
         .endings = {{"STOP", "end_turn"},
                     {"MAX_TOKENS", "max_tokens"},
                     {"SAFETY", "content_filter"},
                     {"MALFORMED_FUNCTION_CALL", "malformed_tool_call"},
                     {"null", k_broken},
                     {"", k_broken},
                     {"OTHER", k_broken},
                     {"MALFORMED_RESPONSE", k_broken},
                     {"FINISH_REASON_UNSPECIFIED", k_broken},
                     {"MISSING_THOUGHT_SIGNATURE", k_broken},
                     {"SOMETHING_NEW", k_broken}}});
}

TEST_CASE("endings: ollama", "[providers]") {
  check({.make = providers::make_ollama,
         .streamed =
             [](const std::string& word) {
               return "{\"message\":{\"content\":\"I will now del\"},\"done\":false}\n"
                      "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":" +
                      word + "}\n";
             },
         .whole =
             [](const std::string& word) {
               return R"({"message":{"content":"I will now del"},"done":true,"done_reason":)" +
                      word + "}";
             },
         .endings = {{"stop", "end_turn"},
                     {"null", "end_turn"},
                     {"length", "max_tokens"},
                     {"load", k_broken},
                     {"unload", k_broken},
                     {"something_new", k_broken}}});
}

TEST_CASE("endings: bedrock", "[providers]") {
  check({.make = providers::make_bedrock,
         .streamed =
             [](const std::string& word) {
               return tests::frame("contentBlockDelta",
                                   R"({"contentBlockIndex":0,"delta":{"text":"I will now del"}})") +
                      tests::frame("messageStop", R"({"stopReason":)" + word + "}");
             },
         .whole =
             [](const std::string& word) {
               return R"({"output":{"message":{"content":[{"text":"I will now del"}]}},)"
                      R"("stopReason":)" +
                      word + "}";
             },
         .endings = {{"end_turn", "end_turn"},
                     {"max_tokens", "max_tokens"},
                     {"guardrail_intervened", "guardrail_intervened"},
                     {"malformed_tool_use", "malformed_tool_call"},
                     {"null", k_broken},
                     {"something_new", k_broken}}});
}
