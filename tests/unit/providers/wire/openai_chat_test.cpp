#include "agent/json.h"
#include "providers/wire/wire.h"
#include "tests/unit/providers/wire/wire_cases.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using agent::Code;
using agent::Reply;
using agent::StopReason;
using agent::ToolCall;

providers::WireSettings settings(std::string base_url = "http://server/v1") {
  providers::WireSettings result{
      .provider = "openai", .model = "m", .base_url = base_url, .api_key = "key"};
  result.quirks = providers::default_quirks(result.provider, base_url);
  return result;
}

std::unique_ptr<providers::Wire> chat(std::string base_url = "http://server/v1") {
  return providers::make_openai_chat(settings(std::move(base_url)));
}

// One chunk of a stream, from the inside of its only choice.
std::string chunk(std::string_view choice) {
  return R"(data: {"id":"c","model":"m-1","choices":[{"index":0,)" + std::string(choice) +
         "}]}\n\n";
}
std::string delta(std::string_view inside) {
  return chunk(R"("delta":{)" + std::string(inside) + R"(},"finish_reason":null)");
}
std::string piece(std::string_view call) {
  return delta(R"("tool_calls":[)" + std::string(call) + "]");
}
std::string finish(std::string_view reason) {
  return chunk(R"("delta":{},"finish_reason":")" + std::string(reason) + "\"");
}
constexpr std::string_view k_done = "data: [DONE]\n\n";

Reply read(const std::string& body) {
  return tests::read(*chat(), body);
}

std::string_view failure(const std::string& body) {
  return tests::failure(*chat(), body);
}

std::vector<ToolCall> calls(const std::string& pieces, std::string_view reason = "tool_calls") {
  return read(pieces + finish(reason) + std::string(k_done)).tool_calls;
}

using Calls = std::vector<ToolCall>;

}  // namespace

TEST_CASE("openai_chat: text and usage of a stream", "[providers]") {
  const Reply reply = read(
      delta(R"("role":"assistant","content":"")") + delta(R"("content":"Hel")") +
      delta(R"("content":"lo")") + finish("stop") +
      R"(data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7,"total_tokens":16,)"
      R"("prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},)"
      R"("completion_tokens_details":{"reasoning_tokens":3}}})"
      "\n\n" +
      std::string(k_done));
  CHECK(reply.text == "Hello");
  CHECK(reply.stop_reason == StopReason::end_turn);
  CHECK(reply.stop_reason_raw == "stop");
  CHECK(reply.model == "m-1");
  CHECK(reply.protocol == "openai_chat");
  CHECK(reply.usage ==
        agent::Usage{.input = 9, .output = 7, .cache_read = 4, .cache_write = 2, .reasoning = 3});
  CHECK(reply.raw.empty());
}

TEST_CASE("openai_chat: a stream that was asked for may come as one body, and the other way round",
          "[providers]") {
  const Reply reply = read(
      "\r\n\n "
      R"({"id":"c","choices":[{"index":0,"message":{"role":)"
      R"("assistant","content":"Hi","tool_calls":null,"refusal":"",)"
      R"("function_call":{"name":"","arguments":""}},"finish_reason":"stop"}]})");
  CHECK(reply.text == "Hi");
  CHECK(reply.tool_calls.empty());
  CHECK(reply.stop_reason == StopReason::end_turn);

  providers::WireSettings plain = settings();
  plain.stream = false;
  const auto played =
      tests::play(*providers::make_openai_chat(plain), delta(R"("content":"Hi")") + finish("stop"));
  REQUIRE(played.reply);
  CHECK(played.reply->text == "Hi");
}

TEST_CASE("openai_chat: a whole body's message counts more than its empty delta", "[providers]") {
  CHECK(read(R"({"choices":[{"index":0,"delta":{"content":""},"message":{"content":"Hi"},)"
             R"("finish_reason":"stop"}]})")
            .text == "Hi");
}

TEST_CASE("openai_chat: xAI counts reasoning beside the completion", "[providers]") {
  const Reply reply = read(
      R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,)"
      R"("completion_tokens":5,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":7}}})");
  CHECK(reply.usage.output == 12);
  CHECK(reply.usage.reasoning == 7);
}

TEST_CASE("openai_chat: a later chunk without usage does not wipe it", "[providers]") {
  const Reply reply =
      read(finish("stop") +
           R"(data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}})"
           "\n\n"
           R"(data: {"choices":[],"moderation":{},"usage":null})"
           "\n\n" +
           std::string(k_done));
  CHECK(reply.usage.input == 3);
}

TEST_CASE("openai_chat: DeepSeek's and Groq's own usage fields", "[providers]") {
  CHECK(read(R"({"choices":[],"usage":{"prompt_tokens":8,"prompt_cache_hit_tokens":6}})")
            .usage.cache_read == 6);
  CHECK(read(finish("stop") + R"(data: {"choices":[],"x_groq":{"usage":{"prompt_tokens":4}}})"
                              "\n\n")
            .usage.input == 4);
}

TEST_CASE("openai_chat: fragments of calls are joined by index", "[providers]") {
  CHECK(
      calls(
          piece(
              R"({"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}})") +
          piece(
              R"({"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}})") +
          piece(R"({"index":0,"function":{"arguments":"{\"x\""}})") +
          piece(R"({"index":1,"function":{"arguments":"{}"}})") +
          piece(R"({"index":0,"function":{"arguments":":1}"}})")) ==
      Calls{{"a", "f", R"({"x":1})"}, {"b", "g", "{}"}});
}

TEST_CASE("openai_chat: calls without an index", "[providers]") {
  CHECK(calls(piece(R"({"id":"a","function":{"name":"f","arguments":"{}"}})") +
              piece(R"({"id":"b","function":{"name":"g","arguments":"{"}})") +
              piece(R"({"function":{"arguments":"}"}})")) ==
        Calls{{"a", "f", "{}"}, {"b", "g", "{}"}});
}

TEST_CASE("openai_chat: index 0 for all parallel calls", "[providers]") {
  CHECK(calls(piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})") +
              piece(R"({"index":0,"id":"b","function":{"name":"f","arguments":"{}"}})")) ==
        Calls{{"a", "f", "{}"}, {"b", "f", "{}"}});
}

TEST_CASE("openai_chat: a head with index 0 and its tail with 1", "[providers]") {
  CHECK(calls(piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})") +
              piece(R"({"index":0,"id":"b","function":{"name":"g","arguments":""}})") +
              piece(R"({"index":1,"function":{"arguments":"{\"y\":2}"}})")) ==
        Calls{{"a", "f", "{}"}, {"b", "g", R"({"y":2})"}});
}

TEST_CASE("openai_chat: a piece of arguments is of one call that has begun", "[providers]") {
  const auto begin = [](std::string_view index, std::string_view id, std::string_view name) {
    return piece(fmt::format(
        R"({{{}"id":"{}","function":{{"name":"{}","arguments":""}}}})", index, id, name));
  };
  const auto go_on = [](std::string_view of) {
    return piece(fmt::format(R"({{{}"function":{{"arguments":"{{}}"}}}})", of));
  };
  const std::string two = begin(R"("index":0,)", "a", "f") + begin(R"("index":1,)", "b", "g");
  for (const std::string_view index :
       {R"("0")", "-1", "0.5", "false", "18446744073709551617", "[0]", "{}"}) {
    CAPTURE(index);
    CHECK(failure(two + go_on(fmt::format(R"("index":{},)", index))) == "provider.bad_response");
    CHECK(failure(begin(fmt::format(R"("index":{},)", index), "a", "f")) ==
          "provider.bad_response");
  }
  const std::string one = begin(R"("index":0,)", "a", "f");
  const std::string bare = begin("", "a", "f");
  for (const std::string& body : {go_on(R"("index":0,)"),
                                  one + go_on(R"("index":1,)"),
                                  bare + go_on(R"("index":1,)"),
                                  bare + begin("", "b", "g") + go_on(R"("index":0,)"),
                                  two + go_on(""),
                                  two + go_on(R"("index":2,)"),
                                  two + go_on(R"("index":1,"id":"a",)"),
                                  two + go_on(R"("index":1,"id":"c",)")}) {
    CAPTURE(body);
    CHECK(failure(body) == "provider.bad_response");
  }
  for (const std::string& body : {one + go_on(R"("index":0,)"),
                                  one + go_on(R"("index":0.0,)"),
                                  one + go_on(R"("index":null,)"),
                                  one + go_on(""),
                                  one + go_on(R"("id":"a",)"),
                                  bare + go_on(""),
                                  bare + go_on(R"("index":0,)")}) {
    CAPTURE(body);
    CHECK(calls(body) == Calls{{"a", "f", "{}"}});
  }
  CHECK(calls(bare + begin("", "b", "g") + go_on("")) == Calls{{"a", "f", "{}"}, {"b", "g", "{}"}});
}

TEST_CASE("openai_chat: later pieces with empty or repeated id and name", "[providers]") {
  CHECK(calls(piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}})") +
              piece(R"({"index":0,"id":"","function":{"name":"","arguments":"1"}})") +
              piece(R"({"index":0,"id":null,"function":{"name":null,"arguments":null}})") +
              piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"}"}})") +
              piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":""}})")) ==
        Calls{{"a", "f", R"({"x":1})"}});
}

TEST_CASE("openai_chat: missing and repeated ids get fresh ones that are always the same",
          "[providers]") {
  const std::string body =
      piece(R"({"index":0,"function":{"name":"f","arguments":"{}"}})") +
      piece(R"({"index":1,"function":{"name":"f","arguments":"{}"}})") +
      piece(R"({"index":2,"id":"a","function":{"name":"g","arguments":"{\"n\":1}"}})") +
      piece(R"({"index":3,"id":"a","function":{"name":"g","arguments":"{\"n\":2}"}})");
  const Calls made = calls(body);
  REQUIRE(made.size() == 4);
  CHECK(made[2].id == "a");
  std::set<std::string> ids;
  for (const ToolCall& call : made) {
    ids.insert(call.id);
    CHECK((call.id == "a" || call.id.size() == 9));
    CHECK(call.id.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos);
  }
  CHECK(ids.size() == 4);
  CHECK(calls(body) == made);
}

TEST_CASE("openai_chat: whole calls without ids and indexes stay apart", "[providers]") {
  const Calls made = calls(piece(R"({"function":{"name":"f","arguments":"{}"}})") +
                           piece(R"({"function":{"name":"f","arguments":"{}"}})"));
  CHECK(made.size() == 2);
}

TEST_CASE("openai_chat: arguments that are nothing mean an empty object", "[providers]") {
  const std::string_view arguments = GENERATE(R"(,"arguments":"")",
                                              R"(,"arguments":null)",
                                              R"(,"arguments":"null")",
                                              R"(,"arguments":{})",
                                              "");
  CHECK(calls(piece(R"({"index":0,"id":"a","function":{"name":"f")" + std::string(arguments) +
                    "}}")) == Calls{{"a", "f", "{}"}});
}

TEST_CASE("openai_chat: empty arguments of a cut answer stay empty", "[providers]") {
  const Reply reply = read(piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":""}})") +
                           finish("length"));
  CHECK(reply.stop_reason == StopReason::max_tokens);
  CHECK(reply.tool_calls == Calls{{"a", "f", ""}});
}

TEST_CASE("openai_chat: arguments as an object, and pieces of them as text", "[providers]") {
  CHECK(calls(piece(R"({"id":"a","function":{"name":"f","arguments":{"x":[1]}}})")) ==
        Calls{{"a", "f", R"({"x":[1]})"}});
}

TEST_CASE("openai_chat: calls decide, whatever the finish reason is", "[providers]") {
  const std::string call =
      piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})");
  CHECK(read(call + finish("stop")).stop_reason == StopReason::tool_use);
  CHECK(read(call + std::string(k_done)).stop_reason == StopReason::tool_use);
  CHECK(read(call + finish("length")).stop_reason == StopReason::max_tokens);
  CHECK(read(call + finish("content_filter")).stop_reason == StopReason::content_filter);
}

TEST_CASE("openai_chat: a gateway's tool_calls over its upstream's length is a cut",
          "[providers]") {
  const Reply reply =
      read(piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}})") +
           chunk(R"("delta":{},"finish_reason":"tool_calls","native_finish_reason":"length")"));
  CHECK(reply.stop_reason == StopReason::max_tokens);
  CHECK(reply.stop_reason_raw == "tool_calls");
}

TEST_CASE("openai_chat: a chunk that comes twice is one call", "[providers]") {
  const std::string call =
      piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}})");
  const Reply twice = read(call + call + finish("tool_calls"));
  REQUIRE(twice.tool_calls.size() == 1);
  CHECK(twice.tool_calls[0].arguments == R"({"n":1})");
  const std::string other =
      piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":2}"}})");
  CHECK(read(call + other + finish("tool_calls")).tool_calls.size() == 2);
}

TEST_CASE("openai_chat: that an answer is cut or filtered is not taken back", "[providers]") {
  CHECK(read(finish("length") + finish("stop")).stop_reason == StopReason::max_tokens);
  CHECK(read(finish("content_filter") + finish("stop")).stop_reason == StopReason::content_filter);
  CHECK(read(finish("stop") + finish("length")).stop_reason == StopReason::max_tokens);
}

TEST_CASE("openai_chat: a finish reason that comes twice gives one reply", "[providers]") {
  const Reply reply =
      read(piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})") +
           finish("tool_calls") + finish("tool_calls") + std::string(k_done));
  CHECK(reply.tool_calls.size() == 1);
}

TEST_CASE("openai_chat: a refusal has its own field", "[providers]") {
  const Reply reply = read(delta(R"("content":null,"refusal":"I can")") +
                           delta(R"("refusal":"not")") + finish("stop"));
  CHECK(reply.stop_reason == StopReason::refusal);
  CHECK(reply.text.empty());
  CHECK_THAT(reply.raw, Catch::Contains("I cannot"));
}

TEST_CASE("openai_chat: content as an array has thinking and text", "[providers]") {
  const Reply reply =
      read(delta(R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}])") +
           delta(R"("content":[{"type":"text","text":"yes"}])") + finish("stop"));
  CHECK(reply.text == "yes");
  CHECK(reply.reasoning == "hm");
  CHECK(
      reply.raw ==
      R"({"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},)"
      R"({"type":"text","text":"yes"}]})");
}

TEST_CASE("openai_chat: the old function_call is a call", "[providers]") {
  const Calls made = calls(delta(R"("function_call":{"name":"f","arguments":""})") +
                               delta(R"("function_call":{"arguments":"{}"})"),
                           "function_call");
  REQUIRE(made.size() == 1);
  CHECK(made[0].name == "f");
  CHECK(made[0].arguments == "{}");
}

TEST_CASE("openai_chat: a function_call beside tool_calls is nothing", "[providers]") {
  for (const std::string empty : {R"({})",
                                  R"({"name":"","arguments":""})",
                                  R"({"name":null,"arguments":null})",
                                  R"({"name":"","arguments":"{}"})",
                                  R"({"name":"f","arguments":"{\"a\":1}"})"}) {
    INFO(empty);
    const Reply whole =
        read(R"({"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f",)"
             R"("arguments":"{\"a\":1}"}}],"function_call":)" +
             empty + R"(},"finish_reason":"tool_calls"}]})");
    CHECK(whole.tool_calls == Calls{{"a", "f", R"({"a":1})"}});
    const Calls streamed =
        calls(delta(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":)"
                    R"("{\"a\":"}}],"function_call":)" +
                    empty) +
                  delta(R"("tool_calls":[{"index":0,"function":{"arguments":"1}"}}],)"
                        R"("function_call":)" +
                        empty),
              "tool_calls");
    CHECK(streamed == Calls{{"a", "f", R"({"a":1})"}});
  }
}

TEST_CASE("openai_chat: a custom tool's free text is never run as arguments", "[providers]") {
  const Reply reply =
      read(R"({"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"custom",)"
           R"("custom":{"name":"calc","input":"1 + 1"}}]},"finish_reason":"tool_calls"}]})");
  CHECK(reply.tool_calls == Calls{{"a", "calc", ""}});
  CHECK_THAT(reply.raw, Catch::Contains(R"("custom":{"name":"calc","input":"1 + 1"})"));
}

TEST_CASE("openai_chat: reasoning comes under three names", "[providers]") {
  CHECK(read(delta(R"("reasoning_content":"a")") + finish("stop")).reasoning == "a");
  CHECK(read(delta(R"("reasoning":"b","reasoning_details":[{"text":"b"}])") + finish("stop"))
            .reasoning == "b");
  CHECK(
      read(delta(R"("reasoning_details":[{"type":"reasoning.text","text":"c"}])") + finish("stop"))
          .reasoning == "c");
}

TEST_CASE("openai_chat: reasoning goes back where the server wants it", "[providers]") {
  const std::string body =
      delta(
          R"("reasoning":"hm","reasoning_details":[{"type":"reasoning.text","index":0,"text":"h"}])") +
      delta(
          R"("reasoning_details":[{"type":"reasoning.text","index":0,"text":"m","signature":"s"}])") +
      piece(
          R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"g":1}})") +
      finish("tool_calls");
  const auto raw = [&](std::string base_url) {
    return tests::play(*chat(std::move(base_url)), body).reply->raw;
  };
  const std::string call =
      R"("tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},)"
      R"("extra_content":{"g":1}}]})";
  CHECK(raw("http://server/v1") == R"({"role":"assistant","content":null,)" + call);
  CHECK(raw("https://api.deepseek.com") ==
        R"({"role":"assistant","content":null,"reasoning_content":"hm",)" + call);
  CHECK(raw("https://openrouter.ai/api/v1") ==
        R"({"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text",)"
        R"("index":0,"text":"hm","signature":"s"}],)" +
            call);
}

TEST_CASE("openai_chat: only the first of several choices counts", "[providers]") {
  CHECK(read(R"(data: {"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"},)"
             R"({"index":0,"delta":{"content":"yes"},"finish_reason":"length"}]})"
             "\n\n")
            .text == "yes");
}

TEST_CASE("openai_chat: chunks without choices, delta or role do no harm", "[providers]") {
  CHECK(read(R"(data: {"choices":[],"prompt_filter_results":[]})"
             "\n\n" +
             delta(R"("content":"Hi")") + chunk(R"("content_filter_offsets":{})") + finish("stop"))
            .text == "Hi");
}

TEST_CASE("openai_chat: half an escaped pair of surrogates does not break the stream",
          "[providers]") {
  CHECK(read(delta(R"("content":"a\ud83d")") + finish("stop")).text == "a\xEF\xBF\xBD");
}

TEST_CASE("openai_chat: a stream without its end mark is broken", "[providers]") {
  CHECK(failure(delta(R"("content":"Hi")")) == "provider.stream_broken");
  CHECK(failure(": ping\n\n") == "provider.stream_broken");
  CHECK(failure("") == "provider.stream_broken");
  CHECK(failure(delta(R"("content":"Hi")") + R"(data: {"choices":[{"index":0,"del)") ==
        "provider.stream_broken");
  CHECK(failure(R"({"choices":[{"index":0,"mess)") == "provider.stream_broken");
}

TEST_CASE("openai_chat: a finish reason or [DONE] ends the answer", "[providers]") {
  CHECK(read(delta(R"("content":"Hi")") + finish("stop")).stop_reason == StopReason::end_turn);
  CHECK(read(delta(R"("content":"Hi")") + std::string(k_done)).stop_reason == StopReason::unknown);
  std::string unterminated = delta(R"("content":"Hi")") + finish("stop");
  unterminated.resize(unterminated.size() - 2);
  CHECK(read(unterminated).stop_reason == StopReason::end_turn);
}

TEST_CASE("openai_chat: what is no answer is a bad response", "[providers]") {
  CHECK(failure("<html><body>Sign in</body></html>") == "provider.bad_response");
  CHECK(failure("Bad gateway\n") == "provider.bad_response");
  CHECK(failure(R"({"hello":"world"})") == "provider.bad_response");
  CHECK(failure("{]") == "provider.bad_response");
  CHECK(failure(delta(R"("content":"Hi")") + "data: oops\n\n" + finish("stop")) ==
        "provider.bad_response");
  CHECK(failure("data: {\"choices\":[\n\n" + finish("stop")) == "provider.bad_response");
  const auto played = tests::play(*chat(), "<p>" + std::string(500, 'x'));
  CHECK(played.reply.error().message.size() < 300);
  CHECK_THAT(played.reply.error().message, Catch::Contains("<p>xxx"));
}

TEST_CASE("openai_chat: errors inside an answer are classified", "[providers]") {
  CHECK(failure(R"({"error":{"code":"content_filter","message":"no","status":400}})") ==
        "provider.refused");
  CHECK(failure(delta(R"("content":"Hi")") +
                R"(data: {"error":{"code":502,"message":"gone"},"choices":[{"index":0,"delta":{},)"
                R"("finish_reason":"error"}]})"
                "\n\n") == "provider.unavailable");
  CHECK(failure(finish("length") + R"(data: {"error":{"code":400,"message":"Token limit"}})"
                                   "\n\n") == "provider.invalid_request");
  CHECK(
      failure(
          "event: error\ndata: {\"error\":{\"code\":\"tool_use_failed\",\"message\":\"x\"}}\n\n") ==
      "provider.bad_response");
}

TEST_CASE("openai_chat: any cut of a stream gives the same reply", "[providers]") {
  const std::string body =
      "\xEF\xBB\xBF: hi\r\n\r\n" + delta(R"("content":"gr\u00fc\u00df dich \ud83d\ude0a")") +
      delta("\"content\":\" \xF0\x9F\x98\x8A\"") +
      piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"é\"}"}})") +
      piece(R"({"index":1,"function":{"name":"g","arguments":""}})") + finish("tool_calls") +
      std::string(k_done);
  tests::check_any_cut(*chat(), body);
}

TEST_CASE("openai_chat: broken bytes give an answer or an error, never a crash", "[providers]") {
  const std::string body =
      delta(
          R"("content":[{"type":"text","text":"x"}],"reasoning_details":[{"index":0,"text":"y"}])") +
      piece(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":[1]}"}})") +
      finish("tool_calls") +
      R"(data: {"choices":[],"usage":{"prompt_tokens":1}})"
      "\n\n";
  CHECK(tests::answers_of_broken_bytes(*chat(), body) > 0);
  tests::answers_of_broken_bytes(*chat(), body.substr(6, body.find('\n') - 6));
}

TEST_CASE("openai_chat: a request is head, messages and tail", "[providers]") {
  const std::vector<agent::ToolInfo> tools = {
      {.name = "f", .description = "Does \"f\"", .parameters = "{ \"type\": \"object\" }"}};
  const agent::Conversation conversation;
  const agent::ModelRequest request{
      .instructions = "Be brief", .tools = tools, .conversation = conversation};
  providers::WireSettings own = settings();
  own.temperature = 0.5;
  own.max_output_tokens = 100;
  own.reasoning = "low";
  const auto wire = providers::make_openai_chat(own);
  CHECK(wire->body_head(request) ==
        R"({"model":"m","tools":[{"type":"function","function":{"name":"f","description":)"
        R"("Does \"f\"","parameters":{"type":"object"}}}],"messages":[)"
        R"({"role":"system","content":"Be brief"})");
  CHECK(wire->body_tail(request) ==
        R"(],"max_tokens":100,"temperature":0.5,"reasoning_effort":"low","stream":true,)"
        R"("stream_options":{"include_usage":true}})");
}

TEST_CASE("openai_chat: a budget's cap is sent where the model can write that much",
          "[providers]") {
  const agent::Conversation conversation;
  providers::WireSettings own = settings();
  own.largest_cap = 4'096;
  const auto tail = [&](std::int64_t cap) {
    return providers::make_openai_chat(own)->body_tail(
        {.instructions = {}, .tools = {}, .conversation = conversation, .max_output_tokens = cap});
  };
  CHECK_THAT(tail(4'096), Catch::Contains(R"("max_tokens":4096)"));
  CHECK_THAT(tail(4'097), !Catch::Contains("max_tokens"));
  own.max_output_tokens = 10'000;
  CHECK_THAT(tail(4'097), Catch::Contains(R"("max_tokens":4097)"));
}

TEST_CASE("openai_chat: messages in the protocol's form", "[providers]") {
  const std::vector<agent::Message> messages = {
      agent::UserMessage{"Hi"},
      agent::AssistantMessage{agent::Reply{
          .text = "kept", .raw = R"({"role":"assistant","x":1})", .protocol = "openai_chat"}},
      agent::AssistantMessage{
          agent::Reply{.text = "",
                       .tool_calls = {{"a", "f", R"({"x":1})"}, {"b", "g", "{bad"}},
                       .raw = "[]",
                       .protocol = "anthropic_messages"}},
      agent::ToolMessage{"a", "f", "out", true},
      agent::AssistantMessage{agent::Reply{.text = "", .protocol = "openai_chat"}},
      agent::AssistantMessage{agent::Reply{.text = "cut", .protocol = "openai_chat"}},
  };
  CHECK(tests::encoded(*chat(), messages) ==
        R"({"role":"user","content":"Hi"},{"role":"assistant","x":1},)"
        R"({"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",)"
        R"("function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function",)"
        R"("function":{"name":"g","arguments":"{\"malformed_arguments\":\"{bad\"}"}}]},)"
        R"({"role":"tool","tool_call_id":"a","content":"out"},)"
        R"({"role":"assistant","content":"cut"})");
}

TEST_CASE("openai_chat: servers differ in data, found by their host alone", "[providers]") {
  const auto quirks = [](std::string_view url) { return providers::default_quirks("openai", url); };
  CHECK(quirks("https://api.openai.com/v1").max_tokens_field == "max_completion_tokens");
  CHECK(quirks("http://127.0.0.1:80/api.openai.com").max_tokens_field == "max_tokens");
  CHECK(quirks("https://api.openai.com.evil.org/v1").max_tokens_field == "max_tokens");
  CHECK(quirks("").max_tokens_field == "max_completion_tokens");
  CHECK(quirks("https://x.openai.azure.com/openai/v1").api_key_header);
  CHECK_FALSE(quirks("https://api.mistral.ai/v1").stream_options);
}

TEST_CASE("openai_chat: addresses with slashes, queries and the whole path", "[providers]") {
  CHECK(chat("http://a/v1//")->url() == "http://a/v1/chat/completions");
  CHECK(chat("http://a/v1/chat/completions")->url() == "http://a/v1/chat/completions");
  CHECK(chat("https://a/d/x?api-version=1")->url() ==
        "https://a/d/x/chat/completions?api-version=1");
}

TEST_CASE("openai_chat: headers of one's own replace ours", "[providers]") {
  providers::WireSettings own = settings();
  own.extra_headers = {{"Authorization", "Basic x"}, {"x-title", "t"}};
  const agent::Headers headers = providers::make_openai_chat(own)->headers();
  CHECK(agent::header(headers, "authorization") == "Basic x");
  CHECK(agent::header(headers, "x-title") == "t");
  CHECK(agent::header(headers, "accept") == "text/event-stream");
  own.api_key.clear();
  own.extra_headers.clear();
  CHECK(agent::header(providers::make_openai_chat(own)->headers(), "authorization").empty());
}
