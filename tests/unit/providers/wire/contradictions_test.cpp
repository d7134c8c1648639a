#include "providers/wire/wire.h"
#include "tests/unit/providers/wire/wire_cases.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using agent::StopReason;

std::unique_ptr<providers::Wire> wire_of(std::string_view protocol) {
  const providers::WireSettings settings{
      .provider = "local", .model = "m", .base_url = "http://localhost", .api_key = "key"};
  return protocol == "anthropic" ? providers::make_anthropic_messages(settings)
         : protocol == "gemini"  ? providers::make_gemini(settings)
         : protocol == "ollama"  ? providers::make_ollama(settings)
                                 : providers::make_openai_chat(settings);
}

// Each event is one JSON text.
std::string stream_of(std::string_view protocol, const std::vector<std::string>& events) {
  std::string body;
  for (const std::string& event : events) {
    body += protocol == "ollama" ? event + "\n" : fmt::format("data: {}\n\n", event);
  }
  return body;
}

}  // namespace

TEST_CASE("contradictions: a part of an answer that is of the wrong type", "[providers]") {
  struct Protocol {
    std::string name;
    std::vector<std::string> begin;
    std::vector<std::string> end;
    std::vector<std::string> wrong;
  };
  const std::vector<Protocol> protocols = {
      {"chat",
       {R"({"choices":[{"delta":{"content":"a"}}]})"},
       {R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"},
       {R"({"choices":[{"delta":{"content":42}}]})",
        R"({"choices":[{"delta":{"content":[7]}}]})",
        R"({"choices":"x"})",
        R"({"choices":[null]})",
        R"({"choices":[{"delta":"x"}]})",
        R"({"choices":[{"delta":{"tool_calls":{}}}]})",
        R"({"choices":[{"delta":{"tool_calls":["x"]}}]})",
        R"({"choices":[{"delta":{"tool_calls":[{"id":"c","function":"f"}]}}]})",
        R"({"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":42}}]}}]})",
        R"({"choices":[{"message":{"tool_calls":[{"id":"c"}]}}]})",
        R"({"error":5})",
        R"({"error":["x"],"choices":[]})",
        R"({"choices":[{"delta":{},"finish_reason":5}]})",
        R"({"choices":[{"delta":{},"finish_reason":"length","finish_reason":"stop"}]})",
        R"({"choices":[{"index":"1","delta":{"content":"b"}}]})"}},
      {"anthropic",
       {R"({"type":"message_start","message":{"id":"m"}})",
        R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}})"},
       {R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})",
        R"({"type":"message_stop"})"},
       {R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}})",
        R"({"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"b"}})",
        R"({"type":"content_block_delta","index":0,"delta":null})",
        R"({"type":7,"index":0,"delta":{"type":"text_delta","text":"b"}})",
        R"({"type":null,"index":0,"delta":{"type":"text_delta","text":"b"}})",
        R"({"index":0,"delta":{"type":"text_delta","text":"b"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":7,"text":"b"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":null,"text":"b"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"text":"b"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}})",
        R"({"type":"content_block_start","index":1,"content_block":7})",
        R"({"type":"content_block_start","index":1,"content_block":{"type":7}})",
        R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":7}})",
        R"({"type":"message_start","message":{"id":"n"}})",
        R"({"type":"message_start","message":{"id":"m"}})",
        R"({"type":"content_block_delta","index":"0","delta":{"type":"text_delta","text":"b"}})",
        R"({"type":"content_block_start","index":-1,"content_block":{"type":"text","text":""}})",
        R"({"type":"message_delta","delta":{"stop_reason":1}})"}},
      {"gemini",
       {R"({"candidates":[{"content":{"parts":[{"text":"a"}]}}]})"},
       {R"({"candidates":[{"finishReason":"STOP"}]})"},
       {R"({"candidates":[{"content":{"parts":[{"text":12}]}}]})",
        R"({"candidates":[{"content":{"parts":["b"]}}]})",
        R"({"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]})",
        R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":42}}]}}]})",
        R"({"candidates":{"content":{}}})",
        R"({"candidates":[{"index":"1","content":{"parts":[{"text":"b"}]}}]})",
        R"({"candidates":[null]})",
        R"({"candidates":[{"finishReason":1}]})"}},
      {"ollama",
       {R"({"message":{"content":"a"},"done":false})"},
       {R"({"done":true,"done_reason":"stop"})"},
       {R"({"message":{"content":7},"done":false})",
        R"({"message":null,"done":false})",
        R"({"message":{"tool_calls":["x"]},"done":false})",
        R"({"message":{"tool_calls":[{"function":"f"}]},"done":false})",
        R"({"message":{"tool_calls":[{"function":{"name":42}}]},"done":false})",
        R"({"done":true,"done_reason":1})"}},
  };
  for (const Protocol& one : protocols) {
    const auto wire = wire_of(one.name);
    const std::string begin = stream_of(one.name, one.begin);
    const std::string end = stream_of(one.name, one.end);
    CHECK(tests::read(*wire, begin + end).text == "a");
    for (const std::string& wrong : one.wrong) {
      CAPTURE(wrong);
      CHECK(tests::failure(*wire, begin + stream_of(one.name, {wrong}) + end) ==
            "provider.bad_response");
    }
  }
}

TEST_CASE("contradictions: an error beside a part of the answer is that of the answer",
          "[providers]") {
  const std::string error = R"("error":{"code":502,"message":"Provider returned error"})";
  const std::string half = R"({"content":"half"})";
  for (const std::string_view reason : {"null", R"("stop")"}) {
    const std::string choice =
        fmt::format(R"({{"choices":[{{"delta":{},"finish_reason":{},{}}}]}})", half, reason, error);
    CHECK(tests::failure(*wire_of("chat"), stream_of("chat", {choice, "[DONE]"})) ==
          "provider.unavailable");
    CHECK(tests::failure(*wire_of("chat"),
                         fmt::format(R"({{"choices":[{{"message":{},"finish_reason":{},{}}}]}})",
                                     half,
                                     reason,
                                     error)) == "provider.unavailable");
  }
}

TEST_CASE("contradictions: a name that stands twice with the same value says it once",
          "[providers]") {
  CHECK(
      tests::read(
          *wire_of("chat"),
          R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop","finish_reason":"stop"}]})")
          .text == "a");
}

TEST_CASE("contradictions: a call without a name is one all the same", "[providers]") {
  const agent::Reply reply = tests::read(
      *wire_of("gemini"),
      stream_of(
          "gemini",
          {R"({"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"args":{}}}]},)"
           R"("finishReason":"STOP"}]})"}));
  CHECK(reply.tool_calls.size() == 1);
  CHECK(reply.stop_reason == StopReason::tool_use);
}

TEST_CASE("contradictions: that an answer is cut is not taken back", "[providers]") {
  struct Row {
    std::string protocol;
    std::vector<std::string> events;
    StopReason reason;
  };
  const std::vector<Row> rows = {
      {"chat",
       {R"({"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]})",
        R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"},
       StopReason::max_tokens},
      {"anthropic",
       {R"({"type":"message_start","message":{"id":"m"}})",
        R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"}})",
        R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})",
        R"({"type":"message_stop"})"},
       StopReason::max_tokens},
      {"anthropic",
       {R"({"type":"message_start","message":{"id":"m"}})",
        R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})",
        R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"}})",
        R"({"type":"message_stop"})"},
       StopReason::max_tokens},
      {"gemini",
       {R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MAX_TOKENS"}]})",
        R"({"candidates":[{"finishReason":"STOP"}]})"},
       StopReason::max_tokens},
      {"gemini",
       {R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"SAFETY"}]})",
        R"({"candidates":[{"finishReason":"STOP"}]})"},
       StopReason::content_filter},
  };
  for (const Row& row : rows) {
    CAPTURE(row.protocol, row.events);
    CHECK(tests::read(*wire_of(row.protocol), stream_of(row.protocol, row.events)).stop_reason ==
          row.reason);
  }
}

TEST_CASE("contradictions: two blocks under one index, or none, are two", "[providers]") {
  const auto call = [](std::string_view index, std::string_view id, std::string_view input) {
    return std::vector<std::string>{
        fmt::format(
            R"({{"type":"content_block_start"{},"content_block":{{"type":"tool_use","id":"{}","name":"f","input":{{}}}}}})",
            index,
            id),
        fmt::format(
            R"({{"type":"content_block_delta"{},"delta":{{"type":"input_json_delta","partial_json":"{}"}}}})",
            index,
            input),
        fmt::format(R"({{"type":"content_block_stop"{}}})", index)};
  };
  for (const std::string_view index : {R"(,"index":0)", ""}) {
    CAPTURE(index);
    std::vector<std::string> events = {R"({"type":"message_start","message":{"id":"m"}})"};
    std::ranges::move(call(index, "one", "{}"), std::back_inserter(events));
    std::ranges::move(call(index, "two", R"({\"x\":1})"), std::back_inserter(events));
    events.push_back(fmt::format(
        R"({{"type":"content_block_start"{},"content_block":{{"type":"text","text":"a"}}}})",
        index));
    events.emplace_back(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})");
    events.emplace_back(R"({"type":"message_stop"})");
    const agent::Reply reply = tests::read(*wire_of("anthropic"), stream_of("anthropic", events));
    CHECK(reply.tool_calls ==
          std::vector<agent::ToolCall>{{"one", "f", "{}"}, {"two", "f", R"({"x":1})"}});
    CHECK(reply.text == "a");
    CHECK(reply.stop_reason == StopReason::tool_use);
  }
}

TEST_CASE("contradictions: what is of two calls, or of none, is no answer", "[providers]") {
  const std::string arguments = R"("arguments":"{\"x\":1}")";
  const std::vector<std::vector<std::string>> pieces_of_calls = {
      {R"({"index":0,"id":"a","function":{"name":"f"}})",
       R"({"index":0,"id":"a","function":{"name":"g",)" + arguments + "}}"},
      {R"({"index":0,"id":"a","function":{"name":"f"}})",
       R"({"index":0,"function":{"name":"g",)" + arguments + "}}"},
      {R"({"index":0,"id":"a","function":{"name":"f"}})",
       R"({"index":1,"id":"a","function":{"name":"g"}})",
       R"({"id":"a","function":{)" + arguments + "}}"},
      {R"({"index":0,"id":"a","function":{"name":"f"}})",
       R"({"id":"z","function":{)" + arguments + "}}"},
      {R"({"index":0,"id":"a","function":{"name":"f"}})",
       R"({"index":1,"id":"z","function":{)" + arguments + "}}"},
      {R"({"index":0,"function":{"name":"f"}})",
       R"({"index":1,"id":"a","function":{"name":"g"}})",
       R"({"index":0,"id":"a","function":{)" + arguments + "}}"},
  };
  std::vector<std::pair<std::string, std::vector<std::string>>> answers;
  for (const auto& pieces : pieces_of_calls) {
    std::vector<std::string> events;
    std::ranges::transform(pieces, std::back_inserter(events), [](const std::string& piece) {
      return R"({"choices":[{"delta":{"tool_calls":[)" + piece + "]}}]}";
    });
    events.emplace_back(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})");
    answers.emplace_back("chat", std::move(events));
  }
  const auto begin = [](std::string_view id) {
    return fmt::format(
        R"({{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"{}","name":"f","input":{{}}}}}})",
        id);
  };
  const std::string input =
      R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}})";
  const std::string end = R"({"type":"content_block_stop","index":0})";
  for (const auto& middle : std::vector<std::vector<std::string>>{
           {begin("a"), begin("b"), input, end}, {begin("a"), end, input}}) {
    std::vector<std::string> events = {R"({"type":"message_start","message":{"id":"m"}})"};
    std::ranges::copy(middle, std::back_inserter(events));
    events.emplace_back(R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})");
    events.emplace_back(R"({"type":"message_stop"})");
    answers.emplace_back("anthropic", std::move(events));
  }
  for (const auto& [protocol, events] : answers) {
    CAPTURE(protocol, events);
    CHECK(tests::failure(*wire_of(protocol), stream_of(protocol, events)) ==
          "provider.bad_response");
  }
}

TEST_CASE("contradictions: a text behind its end, or beside another first one, is no answer",
          "[providers]") {
  const std::string begin = R"({"type":"content_block_start","index":0,"content_block":)"
                            R"({"type":"text","text":""}})";
  const std::string piece =
      R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}})";
  const std::string end = R"({"type":"content_block_stop","index":0})";
  const std::string stop = R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})";
  struct Row {
    std::string protocol;
    std::vector<std::string> events;
    bool is_answer;
  };
  const std::vector<Row> rows = {
      {"anthropic", {begin, piece, end, stop, R"({"type":"message_stop"})"}, true},
      {"anthropic", {begin, piece, end, piece, stop, R"({"type":"message_stop"})"}, false},
      {"anthropic", {begin, piece, end, stop, piece, R"({"type":"message_stop"})"}, false},
      {"chat",
       {R"({"choices":[{"delta":{"content":"a"}},{"delta":{"tool_calls":[]},"finish_reason":"stop"}]})"},
       true},
      {"chat",
       {R"({"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"},"finish_reason":"stop"}]})"},
       false},
      {"gemini",
       {R"({"candidates":[{"content":{"parts":[{"text":"a"}]}},{"finishReason":"STOP"}]})"},
       true},
      {"gemini",
       {R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},)"
        R"({"content":{"parts":[{"text":"b"}]}}]})"},
       false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.protocol, row.events);
    const std::string body = stream_of(row.protocol, row.events);
    if (row.is_answer) {
      CHECK(tests::read(*wire_of(row.protocol), body).text == "a");
    } else {
      CHECK(tests::failure(*wire_of(row.protocol), body) == "provider.bad_response");
    }
  }
}

TEST_CASE("contradictions: what an answer has counted of its tokens does not shrink",
          "[providers]") {
  struct Row {
    std::string protocol;
    std::vector<std::string> events;
  };
  const std::vector<Row> rows = {
      {"chat",
       {R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],)"
        R"("usage":{"prompt_tokens":50,"completion_tokens":1}})",
        R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":30}})",
        R"({"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}})"}},
      {"anthropic",
       {R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":50,)"
        R"("output_tokens":30}}})",
        R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},)"
        R"("usage":{"input_tokens":10,"cache_read_input_tokens":3,"output_tokens":2}})",
        R"({"type":"message_delta","delta":{},)"
        R"("usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}})",
        R"({"type":"message_stop"})"}},
      {"gemini",
       {R"({"candidates":[{"content":{"parts":[{"text":"a"}]}}],)"
        R"("usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":30}})",
        R"({"candidates":[{"finishReason":"STOP"}],)"
        R"("usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}})"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.protocol);
    const agent::Usage usage =
        tests::read(*wire_of(row.protocol), stream_of(row.protocol, row.events)).usage;
    CHECK(usage.input == 50);
    CHECK(usage.output == 30);
  }
}
