// An answer of nothing but text and calls is not kept in the provider's own JSON too: what goes
// back of it is the same message. Where there is anything else, that JSON is kept.
#include "providers/wire/wire.h"
#include "tests/support/play.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace {

using Make = std::unique_ptr<providers::Wire> (*)(providers::WireSettings);

struct Answer {
  std::string body;
  std::string sent;  // back, in the next request
  bool is_plain = true;
};

void check(Make make, const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    CAPTURE(answer.body);
    const auto wire = make(
        {.provider = "p", .model = "gemini-2.5-flash", .base_url = "http://h", .stream = false});
    const auto played = tests::play(*wire, answer.body);
    REQUIRE(played.reply);
    CHECK(played.reply->raw.empty() == answer.is_plain);
    std::string sent = "[";  // of the messages
    const agent::Message before = agent::UserMessage{"Hi"};
    const std::vector<agent::Message> messages = {agent::AssistantMessage{*played.reply}};
    wire->append_messages(sent, messages, &before);
    CHECK(sent == "[" + answer.sent);
  }
}

}  // namespace

TEST_CASE("anthropic_messages: what goes back of a plain answer", "[providers]") {
  const auto body = [](const std::string& content) {
    return R"({"content":[)" + content + R"(],"stop_reason":"end_turn","usage":{}})";
  };
  const std::string text = R"({"type":"text","text":"So \"x\""})";
  const std::string call = R"({"type":"tool_use","id":"t","name":"f","input":{"x":1.50}})";
  const std::string thought = R"({"type":"thinking","thinking":"Hm","signature":"s"})";
  const auto sent = [](const std::string& content) {
    return R"({"role":"assistant","content":[)" + content + "]}";
  };
  std::vector<Answer> answers;
  for (const std::string& plain : {text, call, text + "," + call}) {
    answers.push_back({body(plain), sent(plain)});
  }
  for (const std::string& kept :
       {thought + "," + text,
        call + "," + text,
        text + "," + text,
        std::string(R"({"type":"text","text":"x","citations":[{"n":1}]})"),
        std::string(
            R"({"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"direct"}})")}) {
    answers.push_back({body(kept), sent(kept), false});
  }
  check(providers::make_anthropic_messages, answers);
}

TEST_CASE("openai_chat: what goes back of a plain answer", "[providers]") {
  const auto body = [](const std::string& message) {
    return R"({"choices":[{"index":0,"finish_reason":"stop","message":)" + message + "}]}";
  };
  std::vector<Answer> answers;
  const std::string calls =
      R"("tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]})";
  for (const std::string& plain : {std::string(R"({"role":"assistant","content":"So \"x\""})"),
                                   R"({"role":"assistant","content":"So",)" + calls,
                                   R"({"role":"assistant","content":null,)" + calls}) {
    answers.push_back({body(plain), plain});
  }
  const std::string refusal = R"({"role":"assistant","content":null,"refusal":"No."})";
  const std::string extra =
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"t","type":"function",)"
      R"("function":{"name":"f","arguments":"{}"},"extra_content":{"g":1}}]})";
  const std::string parts = R"({"role":"assistant","content":[{"type":"text","text":"So"}]})";
  for (const std::string& kept : {refusal, extra, parts}) {
    answers.push_back({body(kept), kept, false});
  }
  check(providers::make_openai_chat, answers);
}

TEST_CASE("openai_responses: what goes back of a plain answer", "[providers]") {
  const auto body = [](const std::string& items) {
    return R"({"status":"completed","output":[)" + items + "]}";
  };
  const auto message = [](const std::string& annotations) {
    return R"({"type":"message","id":"m","role":"assistant","status":"completed","content":)"
           R"([{"type":"output_text","text":"So","annotations":[)" +
           annotations + "]}]}";
  };
  const std::string call =
      R"({"type":"function_call","id":"i","call_id":"t","name":"f","arguments":"{\"x\": 1}","status":"completed"})";
  const std::string text_sent = R"({"role":"assistant","content":"So"})";
  const std::string call_sent =
      R"({"type":"function_call","call_id":"t","name":"f","arguments":"{\"x\": 1}"})";
  const std::string thought =
      R"({"type":"reasoning","id":"r","summary":[],"encrypted_content":"sealed"})";
  const std::string call_kept =
      R"({"type":"function_call","call_id":"t","name":"f","arguments":"{\"x\": 1}","status":"completed"})";
  check(providers::make_openai_responses,
        {{body(message("")), text_sent},
         {body(call), call_sent},
         {body(message("") + "," + call), text_sent + "," + call_sent},
         {body(thought + "," + call), thought + "," + call_kept, false},
         {body(message(R"({"url":"u"})")),
          R"({"type":"message","role":"assistant","status":"completed","content":)"
          R"([{"type":"output_text","text":"So","annotations":[{"url":"u"}]}]})",
          false}});
}

TEST_CASE("gemini: what goes back of a plain answer", "[providers]") {
  const auto body = [](const std::string& parts) {
    return R"({"candidates":[{"index":0,"finishReason":"STOP","content":{"parts":[)" + parts +
           "]}}]}";
  };
  const std::string text = R"({"text":"So"})";
  const std::string call = R"({"functionCall":{"name":"f","args":{"x":1}}})";
  const auto sent = [](const std::string& parts) { return R"({"role":"model","parts":[)" + parts; };
  std::vector<Answer> answers = {{body(text), "]}," + sent(text)}};
  for (const std::string& kept : {text + "," + call,
                                  std::string(R"({"text":"So","thoughtSignature":"s"})"),
                                  R"({"text":"Hm","thought":true},)" + text}) {
    answers.push_back({body(kept), "]}," + sent(kept), false});
  }
  check(providers::make_gemini, answers);
}

TEST_CASE("ollama: what goes back of a plain answer", "[providers]") {
  const auto body = [](const std::string& message) {
    return R"({"message":)" + message + R"(,"done":true,"done_reason":"stop"})";
  };
  const std::string calls =
      R"("tool_calls":[{"id":"t","function":{"name":"f","arguments":{"x":1}}}]})";
  std::vector<Answer> answers;
  for (const std::string& plain : {std::string(R"({"role":"assistant","content":"So"})"),
                                   R"({"role":"assistant","content":"So",)" + calls,
                                   R"({"role":"assistant","content":"",)" + calls}) {
    answers.push_back({body(plain), plain});
  }
  const std::string thought = R"({"role":"assistant","content":"So","thinking":"Hm"})";
  answers.push_back({body(thought), thought, false});
  check(providers::make_ollama, answers);
}

TEST_CASE("bedrock: what goes back of a plain answer", "[providers]") {
  const auto body = [](const std::string& content) {
    return R"({"output":{"message":{"role":"assistant","content":[)" + content +
           R"(]}},"stopReason":"end_turn","usage":{}})";
  };
  const std::string text = R"({"text":"So"})";
  const std::string call = R"({"toolUse":{"toolUseId":"t","name":"f","input":{"x":1}}})";
  const std::string thought =
      R"({"reasoningContent":{"reasoningText":{"text":"Hm","signature":"s"}}})";
  const auto sent = [](const std::string& content) {
    return R"(]},{"role":"assistant","content":[)" + content;
  };
  std::vector<Answer> answers;
  for (const std::string& plain : {text, call, text + "," + call}) {
    answers.push_back({body(plain), sent(plain)});
  }
  for (const std::string& kept : {thought + "," + text, call + "," + text}) {
    answers.push_back({body(kept), sent(kept), false});
  }
  check(providers::make_bedrock, answers);
}
