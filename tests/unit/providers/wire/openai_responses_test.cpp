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

using agent::Code;
using agent::Reply;
using agent::StopReason;
using agent::ToolCall;
using Calls = std::vector<ToolCall>;

providers::WireSettings settings(std::string base_url = "https://api.openai.com/v1") {
  providers::WireSettings result{
      .provider = "openai", .model = "m", .base_url = base_url, .api_key = "key"};
  result.quirks = providers::default_quirks(result.provider, base_url);
  return result;
}

std::unique_ptr<providers::Wire> responses(std::string base_url = "https://api.openai.com/v1") {
  return providers::make_openai_responses(settings(std::move(base_url)));
}

// One event of a stream: its type and what else is in its object.
std::string event(std::string_view type, std::string_view inside) {
  return fmt::format(
      "event: {0}\ndata: {{\"type\":\"{0}\",\"sequence_number\":1,{1}}}\n\n", type, inside);
}
std::string added(int index, std::string_view item) {
  return event("response.output_item.added",
               fmt::format(R"("output_index":{},"item":{})", index, item));
}
std::string done(int index, std::string_view item) {
  return event("response.output_item.done",
               fmt::format(R"("output_index":{},"item":{})", index, item));
}
std::string delta(std::string_view what, int index, std::string_view text) {
  return event(fmt::format("response.{}.delta", what),
               fmt::format(R"("item_id":"i","output_index":{},"delta":"{}")", index, text));
}
std::string message(std::string_view text) {
  return fmt::format(
      R"({{"type":"message","id":"msg_1","role":"assistant","content":[{{"type":"output_text","text":"{}","annotations":[]}}]}})",
      text);
}
std::string call(std::string_view id, std::string_view name, std::string_view arguments) {
  return fmt::format(
      R"({{"type":"function_call","id":"fc_1","call_id":"{}","name":"{}","arguments":"{}"}})",
      id,
      name,
      arguments);
}
constexpr std::string_view k_usage =
    R"("usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},)"
    R"("output_tokens":7,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":16})";
std::string end(std::string_view status = "completed", std::string_view more = "") {
  return event(
      fmt::format("response.{}", status),
      fmt::format(
          R"("response":{{"id":"r","model":"m-1","status":"{}","error":null,"output":[],{}{}}})",
          status,
          k_usage,
          more));
}
// The end, with this item in its output.
std::string completed(std::string_view item) {
  return event("response.completed",
               fmt::format(R"("response":{{"status":"completed","output":[{}]}})", item));
}

Reply read(const std::string& body) {
  return tests::read(*responses(), body);
}

std::string_view failure(const std::string& body) {
  return tests::failure(*responses(), body);
}

}  // namespace

TEST_CASE("openai_responses: text, reasoning and usage of a stream", "[providers]") {
  const std::string body =
      event("response.created", R"("response":{"id":"r","model":"m-1","usage":null,"output":[]})") +
      added(0, R"({"type":"reasoning","id":"rs_1","summary":[]})") +
      delta("reasoning_summary_text", 0, "Hm") +
      done(0,
           R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],)"
           R"("encrypted_content":"sealed"})") +
      added(1, R"({"type":"message","id":"msg_1","role":"assistant","content":[]})") +
      delta("output_text", 1, "Hel") + delta("output_text", 1, "lo") + done(1, message("Hello")) +
      end();
  const auto played = tests::play(*responses(), body);
  REQUIRE(played.reply);
  CHECK(played.text == "Hello");
  CHECK(played.reasoning == "Hm");
  const Reply& reply = *played.reply;
  CHECK(reply.text == "Hello");
  CHECK(reply.reasoning == "Hm");
  CHECK(reply.stop_reason == StopReason::end_turn);
  CHECK(reply.stop_reason_raw == "completed");
  CHECK(reply.model == "m-1");
  CHECK(reply.protocol == "openai_responses");
  CHECK(reply.usage ==
        agent::Usage{.input = 9, .output = 7, .cache_read = 4, .cache_write = 2, .reasoning = 3});
  // The sealed thought keeps its name, the message does not: the server does not know it.
  CHECK(reply.raw ==
        R"([{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],)"
        R"("encrypted_content":"sealed"},{"type":"message","role":"assistant","content":)"
        R"([{"type":"output_text","text":"Hello","annotations":[]}]}])");
}

TEST_CASE("openai_responses: one body in place of a stream, and the other way round",
          "[providers]") {
  const Reply reply = read(fmt::format(R"({{"id":"r","status":"completed","output":[{},{}],{}}})",
                                       message("Hi"),
                                       call("a", "f", R"({\"x\":1})"),
                                       k_usage));
  CHECK(reply.text == "Hi");
  CHECK(reply.tool_calls == Calls{{"a", "f", R"({"x":1})"}});
  CHECK(reply.stop_reason == StopReason::tool_use);
  CHECK(reply.usage.input == 9);
}

TEST_CASE("openai_responses: a call is taken from its whole item, by its place", "[providers]") {
  // The ids rotate on the way at one gateway, the last event lists no items at another.
  const Reply reply =
      read(added(0, call("a", "f", "")) + added(1, call("b", "g", "")) +
           delta("function_call_arguments", 0, "{") + delta("function_call_arguments", 1, "{}") +
           done(1, call("b", "g", "{}")) + done(0, call("a", "f", R"({\"x\":1})")) + end());
  CHECK(reply.tool_calls == Calls{{"a", "f", R"({"x":1})"}, {"b", "g", "{}"}});
  CHECK(reply.stop_reason == StopReason::tool_use);
}

TEST_CASE("openai_responses: what is said of an item twice is the same", "[providers]") {
  const std::string begun = added(0, call("a", "f", "")) +
                            delta("function_call_arguments", 0, R"({\"x\":)") +
                            delta("function_call_arguments", 0, "1}");
  const std::string item = call("a", "f", R"({\"x\":1})");
  CHECK(read(begun + done(0, item) + completed(item)).tool_calls.size() == 1);
  const std::vector<std::string> others = {
      call("a", "f", R"({\"x\":2})"),
      call("a", "g", R"({\"x\":1})"),
      call("b", "f", R"({\"x\":1})"),
      R"({"type":42,"call_id":"a","name":"f","arguments":"{}"})",
      R"({"type":null,"call_id":"a","name":"f","arguments":"{}"})",
      message("Hi"),
  };
  for (const std::string& other : others) {
    CAPTURE(other);
    CHECK(failure(begun + done(0, other) + end()) == "provider.bad_response");
    CHECK(failure(begun + done(0, item) + completed(other)) == "provider.bad_response");
  }
  CHECK(failure(begun +
                event("response.function_call_arguments.done",
                      R"("output_index":0,"arguments":"{\"x\":2}")") +
                end()) == "provider.bad_response");
  CHECK(failure(done(0, R"({"call_id":"a","name":"f","arguments":"{}"})") + end()) ==
        "provider.bad_response");
}

TEST_CASE("openai_responses: a status of a call that nobody knows is no end", "[providers]") {
  CHECK(failure(done(0,
                     R"({"type":"function_call","status":"zz","call_id":"a","name":"f",)"
                     R"("arguments":"{}"})") +
                end()) == "provider.stream_broken");
}

TEST_CASE("openai_responses: items that only the last event has are taken from it", "[providers]") {
  const std::string last =
      event("response.completed",
            fmt::format(R"("response":{{"id":"r","status":"completed","output":[{}],{}}})",
                        message("All"),
                        k_usage));
  const auto played = tests::play(*responses(), last);
  REQUIRE(played.reply);
  CHECK(played.reply->text == "All");
  CHECK(played.text == "All");                                // shown, too
  CHECK(read(done(0, message("All")) + last).text == "All");  // once
}

TEST_CASE("openai_responses: pieces of a call's arguments are of a call", "[providers]") {
  const std::string piece = delta("function_call_arguments", 1, "{}");
  const std::string item = call("a", "f", "{}");
  CHECK(read(piece + done(1, item) + end()).tool_calls == Calls{{"a", "f", "{}"}});
  for (const std::string& body : {piece,
                                  piece + done(1, message("Hi")),
                                  added(1, message("")) + piece,
                                  added(0, item) + done(1, item) + piece}) {
    CAPTURE(body);
    CHECK(failure(body + end()) == "provider.bad_response");
  }
}

TEST_CASE("openai_responses: a piece is of one item", "[providers]") {
  const auto piece = [](std::string_view where) {
    return event("response.function_call_arguments.delta",
                 fmt::format(R"({},"delta":"{{}}")", where));
  };
  const std::string begun =
      added(0, R"({"type":"function_call","id":"i","call_id":"a","name":"f"})") +
      added(1, R"({"type":"function_call","id":"j","call_id":"b","name":"g"})");
  for (const std::string_view right : {R"("output_index":1,"item_id":"j")",
                                       R"("item_id":"j")",
                                       R"("output_index":1)",
                                       R"("output_index":1,"item_id":"changed on the way")"}) {
    CAPTURE(right);
    CHECK(read(begun + piece(right) + end()).tool_calls ==
          Calls{{"a", "f", "{}"}, {"b", "g", "{}"}});
  }
  for (const std::string_view wrong : {R"("output_index":1,"item_id":"i")",
                                       R"("output_index":2,"item_id":"i")",
                                       R"("output_index":"1")",
                                       R"("output_index":-1)",
                                       R"("output_index":0.5)",
                                       R"("output_index":true)",
                                       R"("output_index":18446744073709551617)"}) {
    CAPTURE(wrong);
    CHECK(failure(begun + piece(wrong) + end()) == "provider.bad_response");
  }
}

// As the server of llama has it, which gives calls no id of their own.
TEST_CASE("openai_responses: items without an index are told apart by their ids", "[providers]") {
  const auto item = [](std::string_view type, std::string_view inside) {
    return event(fmt::format("response.output_item.{}", type), fmt::format(R"("item":{})", inside));
  };
  const auto piece = [](std::string_view what, std::string_view id, std::string_view text) {
    return event(fmt::format("response.{}.delta", what),
                 fmt::format(R"("item_id":"{}","delta":"{}")", id, text));
  };
  const std::string body =
      item("added", R"({"type":"message","id":"m","role":"assistant","content":[]})") +
      piece("output_text", "m", "Hi") +
      item("added", R"({"type":"function_call","call_id":"a","name":"f","arguments":""})") +
      piece("function_call_arguments", "a", "{") +
      item("added", R"({"type":"function_call","call_id":"b","name":"f","arguments":""})") +
      piece("function_call_arguments", "b", "{}") + piece("function_call_arguments", "a", "}") +
      item("done", R"({"type":"function_call","call_id":"b","name":"f","arguments":"{}"})") +
      item("done", R"({"type":"function_call","call_id":"a","name":"f","arguments":"{}"})");
  const agent::Reply reply = read(body + end());
  CHECK(reply.text == "Hi");
  CHECK(reply.tool_calls == Calls{{"a", "f", "{}"}, {"b", "f", "{}"}});
  const char* const other = R"({"type":"function_call","call_id":"b","name":"g","arguments":"{}"})";
  CHECK(failure(body + item("done", other) + end()) == "provider.bad_response");
}

TEST_CASE("openai_responses: arguments of a call, wherever they are said, are its own",
          "[providers]") {
  const Calls calls{{"a", "f", R"({"x":1})"}};
  CHECK(read(added(0, call("a", "f", R"({\"x\":1})")) + end()).tool_calls == calls);
  const std::string begun = added(0, call("a", "f", ""));
  const std::string piece = delta("function_call_arguments", 0, R"({\"x\":1})");
  CHECK(read(begun + piece + done(0, call("a", "f", "")) + end()).tool_calls == calls);
  CHECK(
      read(begun + piece + done(0, R"({"type":"function_call","call_id":"a","name":"f"})") + end())
          .tool_calls == calls);
  CHECK(read(begun +
             event("response.function_call_arguments.done",
                   R"("output_index":0,"arguments":"{\"x\":1}")") +
             end())
            .tool_calls == calls);
}

TEST_CASE("openai_responses: the answer is what its deltas said, and what these left out",
          "[providers]") {
  struct Row {
    std::string item;
    std::string raw;
  };
  const std::vector<Row> rows = {
      {message("Hello"), ""},
      {R"({"type":"message","content":[]})", ""},
      {R"({"content":"Hello"})", ""},
      {R"({"type":"web_search_call","status":"completed"})",
       R"([{"type":"web_search_call","status":"completed"}])"},
  };
  for (const Row& row : rows) {
    INFO(row.item);
    const Reply reply =
        tests::read(*responses(),
                    delta("output_text", 0, "Hel") + delta("output_text", 0, "lo") +
                        done(0, row.item) + event("response.completed", R"("response":{})"));
    CHECK(reply.text == "Hello");
    CHECK(reply.raw == row.raw);
  }
  const Reply mixed = tests::read(*responses(),
                                  delta("output_text", 7, "Hel") + delta("output_text", 0, "lo") +
                                      event("response.completed", R"("response":{})"));
  CHECK(mixed.text == "Hello");
  const std::string pieces = delta("output_text", 0, "Hel");
  CHECK(read(pieces + done(0, message("Hello")) + end()).text == "Hello");
  CHECK(read(pieces + done(0, message("Hel")) + completed(message("Hello"))).text == "Hello");
  CHECK(read(pieces + completed(message("Hello"))).text == "Hello");
  CHECK(read(pieces + delta("output_text", 0, " ") + done(0, message("Hel")) + end()).text ==
        "Hel ");
}

TEST_CASE("openai_responses: an answer that says two things is none", "[providers]") {
  const std::string pieces = delta("output_text", 0, "Hel");
  for (const std::string& body : {
           pieces + done(0, message("Goodbye")) + end(),
           done(0, message("Hel")) + completed(message("Goodbye")),
           pieces + delta("output_text", 0, "lo") + done(0, message("Hel")) + end(),
           pieces + done(0, message("Hel")) + delta("output_text", 0, "lo") + end(),
           pieces + event("response.output_text.done", R"("output_index":0,"text":"Hel")") +
               event("response.output_text.delta",
                     R"("output_index":0,"content_index":0,"delta":"lo")") +
               end(),
           pieces + delta("refusal", 0, "No.") + done(0, message("Hel")) + end(),
           pieces + event("response.completed", R"("response":{"status":5})"),
           pieces + event("response.completed", R"("response":7)"),
           pieces + event("response.completed", R"("response":[])"),
           pieces + event("response.output_text.delta", R"("output_index":0,"delta":7)") + end(),
           done(0, message("Hel")) +
               event("response.completed",
                     R"("response":{"status":"completed","error":{"code":"server_error"}})"),
       }) {
    INFO(body);
    CHECK(failure(body) == "provider.bad_response");
  }
}

TEST_CASE("openai_responses: a message that is not whole cuts the answer", "[providers]") {
  const std::string cut =
      R"({"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"Hel"}]})";
  CHECK(read(done(0, cut) + end()).stop_reason == StopReason::max_tokens);
  CHECK(read(done(0, message("Hel")) + completed(cut)).stop_reason == StopReason::max_tokens);
}

TEST_CASE("openai_responses: without event names, and with a [DONE] behind it", "[providers]") {
  std::string body = done(0, message("Hi")) + end();
  for (auto at = body.find("event: "); at != std::string::npos; at = body.find("event: ")) {
    body.erase(at, body.find('\n', at) + 1 - at);
  }
  CHECK(read(body + "data: [DONE]\n\n").text == "Hi");
}

TEST_CASE("openai_responses: a cut answer's calls never become ones that can run", "[providers]") {
  const Reply reply =
      read(done(0, call("a", "f", R"({\"x\":4)")) + done(1, call("b", "g", "")) +
           end("incomplete", R"(,"incomplete_details":{"reason":"max_output_tokens"})"));
  CHECK(reply.stop_reason == StopReason::max_tokens);
  CHECK(reply.stop_reason_raw == "incomplete:max_output_tokens");
  CHECK(reply.tool_calls == Calls{{"a", "f", R"({"x":4)"}, {"b", "g", ""}});
  CHECK(read(done(0, message("x")) +
             end("incomplete", R"(,"incomplete_details":{"reason":"content_filter"})"))
            .stop_reason == StopReason::content_filter);
}

TEST_CASE("openai_responses: a refusal, a custom tool, reasoning of an open model", "[providers]") {
  const Reply refusal =
      read(done(0, R"({"type":"message","content":[{"type":"refusal","refusal":"I will not."}]})") +
           end());
  CHECK(refusal.stop_reason == StopReason::refusal);
  CHECK(refusal.text.empty());

  const Reply custom = read(
      done(0,
           R"({"type":"custom_tool_call","id":"ct","call_id":"c","name":"sql","input":"SELECT"})") +
      end());
  CHECK(custom.tool_calls == Calls{{"c", "sql", ""}});  // free text is never run as arguments

  const Reply open = read(
      done(0,
           R"({"type":"reasoning","id":"r","content":[{"type":"reasoning_text","text":"Hm"}]})") +
      done(1, R"({"type":"reasoning","id":"s","summary":[]})") + done(2, message("x")) + end());
  CHECK(open.reasoning == "Hm");
  CHECK(open.raw.find(R"("reasoning_text")") != std::string::npos);
  CHECK(open.raw.find(R"("summary":[])") == std::string::npos);  // only a name: not sent back
}

TEST_CASE("openai_responses: a stream without its terminal event is broken", "[providers]") {
  CHECK(failure(done(0, message("Hi"))) == "provider.stream_broken");
  CHECK(failure(done(0, call("a", "f", "{}")) + "data: [DONE]\n\n") == "provider.stream_broken");
  CHECK(failure(added(0, message(""))) == "provider.stream_broken");
}

TEST_CASE("openai_responses: failures inside an answer are classified", "[providers]") {
  constexpr std::string_view k_quota =
      R"("error":{"code":"insufficient_quota","message":"You exceeded your current quota"})";
  CHECK(failure(event("error", k_quota)) == "provider.quota");
  CHECK(failure(event("response.failed",
                      fmt::format(R"("response":{{"status":"failed",{}}})", k_quota))) ==
        "provider.quota");
  CHECK(failure(event("response.failed", R"("response":{"status":"failed","error":null})")) ==
        "provider.unavailable");
  CHECK(failure(R"({"status":"failed","output":[],"error":{"code":"rate_limit_exceeded",)"
                R"("message":"slow down"}})") == "provider.rate_limited");
  CHECK(failure("<html>") == "provider.bad_response");
  CHECK(failure(R"({"object":"response"})") == "provider.bad_response");
}

TEST_CASE("openai_responses: any cut of a stream gives the same reply", "[providers]") {
  const std::string body = "\xEF\xBB\xBF: hi\r\n\r\n" + added(0, message("")) +
                           delta("output_text", 0, "gr\xC3\xBC\xC3\x9F dich") +
                           done(0, message("gr\xC3\xBC\xC3\x9F dich")) +
                           done(1, call("a", "f", R"({\"x\":\"é\"})")) + end();
  tests::check_any_cut(*responses(), body);
}

TEST_CASE("openai_responses: broken bytes give an answer or an error, never a crash",
          "[providers]") {
  const std::string body = done(0, message("x")) + done(1, call("a", "f", "{}")) + end();
  CHECK(tests::answers_of_broken_bytes(*responses(), body) > 0);
}

TEST_CASE("openai_responses: a request is head, messages and tail", "[providers]") {
  const std::vector<agent::ToolInfo> tools = {
      {.name = "f", .description = "Does \"f\"", .parameters = "{ \"type\": \"object\" }"}};
  const agent::Conversation conversation;
  const agent::ModelRequest request{
      .instructions = "Be brief", .tools = tools, .conversation = conversation};
  providers::WireSettings own = settings();
  own.temperature = 0.5;
  own.max_output_tokens = 5;  // the protocol's least is 16
  own.reasoning = "low";
  const auto wire = providers::make_openai_responses(own);
  CHECK(wire->body_head(request) ==
        R"({"model":"m","instructions":"Be brief","tools":[{"type":"function","name":"f",)"
        R"("description":"Does \"f\"","parameters":{"type":"object"},"strict":false}],"input":[)");
  CHECK(wire->body_tail(request) ==
        R"(],"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":16,)"
        R"("temperature":0.5,"reasoning":{"effort":"low"},"stream":true})");
  CHECK(wire->url() == "https://api.openai.com/v1/responses");
  CHECK(agent::header(wire->headers(), "authorization") == "Bearer key");
  CHECK(agent::header(responses("https://x.openai.azure.com/openai/v1")->headers(), "api-key") ==
        "key");
  // Sealed thoughts are asked for only where they are known to exist.
  CHECK(responses("http://localhost/v1")->body_tail({.conversation = conversation}) ==
        R"(],"store":false,"stream":true})");
}

TEST_CASE("openai_responses: a model without thoughts refuses to seal them, once", "[providers]") {
  const agent::Conversation conversation;
  const agent::ModelRequest request{.conversation = conversation};
  const auto wire = responses();
  constexpr std::string_view k_refusal =
      R"({"error":{"message":"Encrypted content is not supported with this model.",)"
      R"("type":"invalid_request_error","param":"include"}})";
  CHECK_FALSE(wire->adapt(500, k_refusal, request));
  CHECK_FALSE(wire->adapt(400, R"({"error":{"message":"no"}})", request));
  CHECK(wire->adapt(400, k_refusal, request));
  CHECK(wire->body_tail(request) == R"(],"store":false,"stream":true})");
  CHECK_FALSE(wire->adapt(400, k_refusal, request));
}

TEST_CASE("openai_responses: messages in the protocol's form", "[providers]") {
  const std::vector<agent::Message> messages = {
      agent::UserMessage{"Hi"},
      agent::AssistantMessage{agent::Reply{.text = "kept",
                                           .raw = R"([{"type":"reasoning"},{"type":"message"}])",
                                           .protocol = "openai_responses"}},
      agent::AssistantMessage{
          agent::Reply{.text = "So",
                       .tool_calls = {{"a", "f", R"({"x":1})"}, {"b", "g", "{bad"}},
                       .raw = "{}",
                       .protocol = "openai_chat"}},
      agent::ToolMessage{"a", "f", "out", true},
      agent::AssistantMessage{agent::Reply{.text = "", .protocol = "openai_responses"}},
  };
  CHECK(tests::encoded(*responses(), messages) ==
        R"({"role":"user","content":"Hi"},{"type":"reasoning"},{"type":"message"},)"
        R"({"role":"assistant","content":"So"},)"
        R"({"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"},)"
        R"({"type":"function_call","call_id":"b","name":"g",)"
        R"("arguments":"{\"malformed_arguments\":\"{bad\"}"},)"
        R"({"type":"function_call_output","call_id":"a","output":"out"})");
}
