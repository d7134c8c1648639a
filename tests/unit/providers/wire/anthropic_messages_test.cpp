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

providers::WireSettings settings(std::string model = "m", std::string base_url = "http://server") {
  providers::WireSettings result{
      .provider = "anthropic", .model = std::move(model), .base_url = base_url, .api_key = "key"};
  result.quirks = providers::default_quirks(result.provider, base_url);
  return result;
}

std::unique_ptr<providers::Wire> messages() {
  return providers::make_anthropic_messages(settings());
}

std::string event(std::string_view type, std::string_view inside = "") {
  return "event: " + std::string(type) + "\ndata: {\"type\":\"" + std::string(type) + "\"" +
         (inside.empty() ? "" : ",") + std::string(inside) + "   }\n\n";
}
std::string start(std::string_view usage = R"({"input_tokens":3,"output_tokens":1})") {
  return event("message_start",
               R"("message":{"id":"msg","model":"m-1","content":[],"stop_reason":null,"usage":)" +
                   std::string(usage) + "}");
}
std::string block(int index, std::string_view block) {
  return event("content_block_start",
               R"("index":)" + std::to_string(index) + R"(,"content_block":)" + std::string(block));
}
std::string delta(int index, std::string_view delta) {
  return event("content_block_delta",
               R"("index":)" + std::to_string(index) + R"(,"delta":)" + std::string(delta));
}
std::string input(int index, std::string_view json) {
  return delta(
      index,
      R"({"type":"input_json_delta","partial_json":)" + agent::dump(agent::Json(json)) + "}");
}
std::string stop(std::string_view reason, std::string_view usage = R"({"output_tokens":9})") {
  return event("message_delta",
               R"("delta":{"stop_reason":")" + std::string(reason) +
                   R"(","stop_sequence":null},"usage":)" + std::string(usage)) +
         event("message_stop");
}

Reply read(const std::string& body) {
  return tests::read(*messages(), body);
}

std::string_view failure(const std::string& body) {
  return tests::failure(*messages(), body);
}

const std::string k_text = R"({"type":"text","text":""})";
const std::string k_tool = R"({"type":"tool_use","id":"t1","name":"f","input":{}})";

agent::ModelRequest request(const agent::Conversation& conversation,
                            std::string_view instructions = "",
                            std::optional<std::int64_t> budget = {}) {
  return {.instructions = instructions,
          .tools = {},
          .conversation = conversation,
          .max_output_tokens = budget};
}

}  // namespace

TEST_CASE("anthropic_messages: text, thinking and what goes back of them", "[providers]") {
  const Reply reply =
      read(start() + block(0, R"({"type":"thinking","thinking":"","signature":""})") +
           event("ping") + delta(0, R"({"type":"thinking_delta","thinking":"hm"})") +
           delta(0, R"({"type":"signature_delta","signature":"sig"})") +
           event("content_block_stop", R"("index":0)") +
           block(1, R"({"type":"redacted_thinking","data":"zzz"})") + block(2, k_text) +
           delta(2, R"({"type":"text_delta","text":"Hel"})") +
           delta(2, R"({"type":"text_delta","text":"lo"})") +
           delta(2, R"({"type":"new_delta","x":1})") + event("new_event") + stop("end_turn"));
  CHECK(reply.text == "Hello");
  CHECK(reply.reasoning == "hm");
  CHECK(reply.model == "m-1");
  CHECK(reply.stop_reason == StopReason::end_turn);
  CHECK(reply.protocol == "anthropic_messages");
  CHECK(reply.raw ==
        R"([{"type":"thinking","thinking":"hm","signature":"sig"},)"
        R"({"type":"redacted_thinking","data":"zzz"},{"type":"text","text":"Hello"}])");
}

TEST_CASE("anthropic_messages: a piece is of a block that has begun", "[providers]") {
  const auto piece = [](std::string_view index) {
    return event(
        "content_block_delta",
        fmt::format(R"({}"delta":{{"type":"input_json_delta","partial_json":"{{}}"}})", index));
  };
  const std::string one = start() + block(0, k_tool);
  CHECK(read(one + piece("") + stop("tool_use")).tool_calls.front().arguments == "{}");
  const std::string two = one + block(1, R"({"type":"tool_use","id":"t2","name":"g","input":{}})");
  for (const std::string_view index : {R"("index":"0",)",
                                       R"("index":false,)",
                                       R"("index":-1,)",
                                       R"("index":0.5,)",
                                       R"("index":18446744073709551617,)",
                                       R"("index":2,)",
                                       ""}) {
    CAPTURE(index);
    CHECK(failure(two + piece(index) + stop("tool_use")) == "provider.bad_response");
  }
}

TEST_CASE("anthropic_messages: the last usage replaces the first, cached tokens are input",
          "[providers]") {
  const Reply reply = read(
      start(R"({"input_tokens":3,"cache_read_input_tokens":10,"cache_creation_input_tokens":5,)"
            R"("output_tokens":1})") +
      stop("end_turn",
           R"({"input_tokens":400,"cache_read_input_tokens":null,"output_tokens":50,)"
           R"("output_tokens_details":{"thinking_tokens":20}})"));
  CHECK(reply.usage ==
        agent::Usage{
            .input = 415, .output = 50, .cache_read = 10, .cache_write = 5, .reasoning = 20});
}

TEST_CASE("anthropic_messages: what is cached for an hour is told apart", "[providers]") {
  const Reply reply =
      read(start(R"({"input_tokens":3,"cache_creation_input_tokens":50,"output_tokens":1,)"
                 R"("cache_creation":{"ephemeral_5m_input_tokens":20,)"
                 R"("ephemeral_1h_input_tokens":30}})") +
           stop("end_turn", R"({"output_tokens":5})"));
  CHECK(reply.usage ==
        agent::Usage{.input = 53, .output = 5, .cache_write = 50, .cache_write_1h = 30});
}

TEST_CASE("anthropic_messages: tool input comes in pieces", "[providers]") {
  const Reply reply = read(start() + block(0, k_tool) + input(0, "") + input(0, R"({"x")") +
                           input(0, ":1}") + stop("tool_use"));
  CHECK(reply.tool_calls == Calls{{"t1", "f", R"({"x":1})"}});
  CHECK(reply.stop_reason == StopReason::tool_use);
  CHECK(reply.raw.empty());
}

TEST_CASE("anthropic_messages: a tool without input is called with an empty object",
          "[providers]") {
  CHECK(read(start() + block(0, k_tool) + stop("tool_use")).tool_calls == Calls{{"t1", "f", "{}"}});
  CHECK(read(start() + block(0, k_tool) + input(0, "") + stop("tool_use")).tool_calls ==
        Calls{{"t1", "f", "{}"}});
}

TEST_CASE("anthropic_messages: input that is whole at the start is kept", "[providers]") {
  CHECK(read(start() + block(0, R"({"type":"tool_use","id":"t","name":"f","input":{"x":1}})") +
             stop("tool_use"))
            .tool_calls == Calls{{"t", "f", R"({"x":1})"}});
}

TEST_CASE("anthropic_messages: calls of a cut answer cannot run", "[providers]") {
  CHECK(read(start() + block(0, k_tool) + stop("max_tokens")).tool_calls == Calls{{"t1", "f", ""}});
  const Reply reply = read(start() + block(0, k_tool) + input(0, R"({"x":)") + stop("max_tokens"));
  CHECK(reply.tool_calls == Calls{{"t1", "f", R"({"x":)"}});
  CHECK(reply.stop_reason == StopReason::max_tokens);
  CHECK(reply.raw.empty());
}

TEST_CASE("anthropic_messages: calls made by the provider are not ours to run", "[providers]") {
  const Reply reply = read(
      start() + block(0, R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})") +
      input(0, R"({"q":1})") +
      block(1, R"({"type":"web_search_tool_result","tool_use_id":"s","content":[]})") +
      stop("pause_turn"));
  CHECK(reply.tool_calls.empty());
  CHECK(reply.stop_reason == StopReason::pause);
  CHECK(reply.raw == R"([{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},)"
                     R"({"type":"web_search_tool_result","tool_use_id":"s","content":[]}])");
}

TEST_CASE("anthropic_messages: stop reasons", "[providers]") {
  const auto reason = [](std::string_view word) { return read(start() + stop(word)).stop_reason; };
  CHECK(reason("stop_sequence") == StopReason::stop_sequence);
  CHECK(reason("refusal") == StopReason::refusal);
  CHECK(reason("model_context_window_exceeded") == StopReason::context_window);
  CHECK(read(start() + block(0, k_tool) + stop("end_turn")).stop_reason == StopReason::tool_use);
}

TEST_CASE("anthropic_messages: an answer without any block has nothing to send back",
          "[providers]") {
  CHECK(read(start() + stop("end_turn")).raw.empty());
  CHECK(read(start() + block(0, k_text) + stop("end_turn")).raw.empty());
  CHECK(read(start() + block(0, R"({"type":"text","text":" \n"})") + stop("end_turn")).raw.empty());
}

TEST_CASE("anthropic_messages: a body that is not streamed", "[providers]") {
  const Reply reply = read(
      R"({"id":"msg","type":"message","model":"m","content":[{"type":"text","text":"Hi","citations":null},)"
      R"({"type":"tool_use","id":"t","name":"f","input":{"x":1}}],"stop_reason":"tool_use",)"
      R"("usage":{"input_tokens":2,"output_tokens":3}})");
  CHECK(reply.text == "Hi");
  CHECK(reply.tool_calls == Calls{{"t", "f", R"({"x":1})"}});
  CHECK(reply.usage.total() == 5);
  CHECK(reply.raw ==
        R"([{"type":"text","text":"Hi","citations":null},{"type":"tool_use","id":"t","name":"f",)"
        R"("input":{"x":1}}])");
}

TEST_CASE("anthropic_messages: citations are kept", "[providers]") {
  const Reply reply = read(start() + block(0, R"({"type":"text","text":"","citations":[]})") +
                           delta(0, R"({"type":"citations_delta","citation":{"n":1}})") +
                           delta(0, R"({"type":"text_delta","text":"x"})") + stop("end_turn"));
  CHECK(reply.raw == R"([{"type":"text","text":"x","citations":[{"n":1}]}])");
}

TEST_CASE("anthropic_messages: without message_stop the answer is broken", "[providers]") {
  const std::string cut =
      start() + block(0, k_text) + delta(0, R"({"type":"text_delta","text":"x"})");
  CHECK(failure(cut) == "provider.stream_broken");
  CHECK(failure(cut + event("message_delta", R"("delta":{"stop_reason":"end_turn"})")) ==
        "provider.stream_broken");
  CHECK(failure(start() + "event: content_block_delta\ndata: {\"type\":\"content_bl") ==
        "provider.stream_broken");
}

TEST_CASE("anthropic_messages: an imitator's [DONE] behind the end does no harm", "[providers]") {
  CHECK(read(start() + stop("end_turn") + "data: [DONE]\n\n").stop_reason == StopReason::end_turn);
}

TEST_CASE("anthropic_messages: an error event ends the answer at any place", "[providers]") {
  const std::string error =
      event("error", R"("error":{"type":"overloaded_error","message":"Overloaded"})");
  CHECK(failure(error) == "provider.unavailable");
  const auto played = tests::play(
      *messages(),
      start() + block(0, k_text) + delta(0, R"({"type":"text_delta","text":"x"})") + error);
  REQUIRE_FALSE(played.reply);
  CHECK(played.text == "x");
  CHECK(played.reply.error().message == "Overloaded");
  CHECK(failure(event("error", R"("error":{"type":"rate_limit_error","message":"x"})")) ==
        "provider.rate_limited");
  CHECK(failure(event("error", R"("error":{"type":"api_error","message":"x"})")) ==
        "provider.unavailable");
}

TEST_CASE("anthropic_messages: cut anywhere, and with broken bytes", "[providers]") {
  const std::string body =
      start() + block(0, k_text) +
      delta(0, "{\"type\":\"text_delta\",\"text\":\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x8A\"}") +
      block(1, k_tool) + input(1, "{\"x\":\"\xC3\xA4\"}") + stop("tool_use");
  tests::check_any_cut(*messages(), body);
  CHECK(tests::answers_of_broken_bytes(*messages(), body) > 0);
}

TEST_CASE("anthropic_messages: results and what the user adds are one message", "[providers]") {
  const std::vector<agent::Message> conversation = {
      agent::UserMessage{"Hi"},
      agent::AssistantMessage{agent::Reply{.raw = R"([{"type":"tool_use","id":"a"}])",
                                           .protocol = "anthropic_messages"}},
      agent::ToolMessage{"a", "f", "out", false},
      agent::ToolMessage{"b", "g", "bad", true},
      agent::UserMessage{"go on"},
      agent::AssistantMessage{agent::Reply{.text = ""}},
      agent::UserMessage{"please"},
  };
  CHECK(tests::encoded(*messages(), conversation) ==
        R"({"role":"user","content":[{"type":"text","text":"Hi"}]},)"
        R"({"role":"assistant","content":[{"type":"tool_use","id":"a"}]},)"
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"out"},)"
        R"({"type":"tool_result","tool_use_id":"b","content":"bad","is_error":true},)"
        R"({"type":"text","text":"go on"},{"type":"text","text":"please"}]})");
}

TEST_CASE("anthropic_messages: turns of another protocol are built anew", "[providers]") {
  const std::vector<agent::Message> conversation = {agent::AssistantMessage{
      agent::Reply{.text = "Hi",
                   .tool_calls = {{"a", "f", R"({"x":1})"}, {"b", "g", "{bad"}},
                   .raw = "{}",
                   .protocol = "openai_chat"}}};
  CHECK(tests::encoded(*messages(), conversation) ==
        R"({"role":"assistant","content":[{"type":"text","text":"Hi"},)"
        R"({"type":"tool_use","id":"a","name":"f","input":{"x":1}},)"
        R"({"type":"tool_use","id":"b","name":"g","input":{"malformed_arguments":"{bad"}}]})");
}

TEST_CASE("anthropic_messages: the head is stable, and marked for the cache only where it is known",
          "[providers]") {
  const agent::Conversation conversation;
  const std::vector<agent::ToolInfo> tools = {
      {.name = "f", .description = "d", .parameters = R"({"type":"object"})"}};
  agent::ModelRequest asked = request(conversation, "Be brief");
  asked.tools = tools;
  CHECK(messages()->body_head(asked) ==
        R"({"model":"m","tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],)"
        R"("system":"Be brief","messages":[)");
  const auto own = providers::make_anthropic_messages(settings("m", "https://api.anthropic.com"));
  CHECK(
      own->body_head(asked) ==
      R"({"model":"m","tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],)"
      R"("system":[{"type":"text","text":"Be brief","cache_control":{"type":"ephemeral"}}],"messages":[)");
  CHECK(own->body_tail(asked) ==
        R"(],"max_tokens":8192,"cache_control":{"type":"ephemeral"},"stream":true})");
}

TEST_CASE("anthropic_messages: max_tokens is the lowest of model, agent and budget",
          "[providers]") {
  const agent::Conversation conversation;
  const auto tail = [&](providers::WireSettings own, std::optional<std::int64_t> budget) {
    return providers::make_anthropic_messages(std::move(own))
        ->body_tail(request(conversation, "", budget));
  };
  providers::WireSettings own = settings("claude-sonnet-4-5");
  CHECK(tail(own, {}) == R"(],"max_tokens":64000,"stream":true})");
  CHECK(tail(own, 500) == R"(],"max_tokens":500,"stream":true})");
  own.max_output_tokens = 300;
  CHECK(tail(own, 500) == R"(],"max_tokens":300,"stream":true})");
  own.max_output_tokens.reset();
  own.stream = false;
  CHECK(tail(own, {}) == R"(],"max_tokens":21333})");
}

TEST_CASE("anthropic_messages: reasoning is a budget for older models, an effort for newer ones",
          "[providers]") {
  const agent::Conversation conversation;
  const auto tail = [&](std::string model, std::string reasoning, std::int64_t limit) {
    providers::WireSettings own = settings(std::move(model));
    own.reasoning = std::move(reasoning);
    own.max_output_tokens = limit;
    return providers::make_anthropic_messages(own)->body_tail(request(conversation));
  };
  CHECK(
      tail("claude-sonnet-4-5", "high", 40'000) ==
      R"(],"max_tokens":40000,"thinking":{"type":"enabled","budget_tokens":16384},"stream":true})");
  CHECK(tail("claude-sonnet-4-5", "high", 1'000) == R"(],"max_tokens":1000,"stream":true})");
  CHECK(
      tail("claude-opus-5", "high", 1'000) ==
      R"(],"max_tokens":1000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"stream":true})");
  CHECK(tail("claude-opus-5", "none", 1'000) ==
        R"(],"max_tokens":1000,"thinking":{"type":"disabled"},"stream":true})");
}

TEST_CASE("anthropic_messages: address and headers", "[providers]") {
  const auto url = [](std::string base) {
    return providers::make_anthropic_messages(settings("m", std::move(base)))->url();
  };
  CHECK(url("http://a") == "http://a/v1/messages");
  CHECK(url("http://a/") == "http://a/v1/messages");
  CHECK(url("http://a/v1/") == "http://a/v1/messages");
  CHECK(url("http://a/v1/messages") == "http://a/v1/messages");
  CHECK(url("http://a?x=1") == "http://a/v1/messages?x=1");
  const agent::Headers headers = messages()->headers();
  CHECK(agent::header(headers, "anthropic-version") == "2023-06-01");
  CHECK(agent::header(headers, "x-api-key") == "key");
  CHECK(agent::header(headers, "content-type") == "application/json");
}
