#include "providers/wire/wire_provider.h"

#include "agent/json.h"
#include "providers/wire/wire.h"
#include "tests/support/fakes.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using agent::Code;

// Answers from a list, byte by byte, and remembers what was sent.
class FakeHttp final : public agent::Http {
 public:
  struct Answer {
    int status = 200;
    std::string body;
    agent::Headers headers = {};
    std::optional<agent::Error> error = {};  // after the body
  };

  explicit FakeHttp(std::deque<Answer> answers) : answers_(std::move(answers)) {}

  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token) override {
    bodies.emplace_back(request.body);
    urls.push_back(request.url);
    REQUIRE_FALSE(answers_.empty());
    const Answer answer = std::move(answers_.front());
    answers_.pop_front();
    agent::HttpResponse response{.status = answer.status, .headers = answer.headers};
    if (answer.status < 200 || answer.status > 299) {
      response.body = answer.body;
      return response;
    }
    for (const char& byte : answer.body) {
      if (on_data(std::string_view(&byte, 1)) == agent::Heard::enough) {
        return response;
      }
    }
    if (answer.error) {
      return agent::fail(*answer.error);
    }
    return response;
  }

  std::vector<std::string> bodies;
  std::vector<std::string> urls;

 private:
  std::deque<Answer> answers_;
};

const std::string k_hello =
    R"(data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]})"
    "\n\n";
const std::string k_done = "data: [DONE]\n\n";
const FakeHttp::Answer k_ok{.body = k_hello + k_done};

providers::WireSettings settings() {
  return {.provider = "label", .model = "m", .base_url = "http://server/v1", .api_key = "k"};
}

struct Fixture {
  explicit Fixture(std::deque<FakeHttp::Answer> answers, providers::WireSettings own = settings())
      : http(std::move(answers)),
        provider(providers::make_wire_provider(
            providers::make_openai_chat(std::move(own)), http, clock)) {}

  agent::Result<agent::Reply> ask(std::optional<std::int64_t> budget = {}) {
    const agent::ModelRequest request{.instructions = "Be brief",
                                      .tools = {},
                                      .conversation = conversation,
                                      .max_output_tokens = budget};
    return provider->complete(request,
                              [this](const agent::EventBody& event) {
                                if (const auto* delta = std::get_if<agent::ModelDelta>(&event)) {
                                  streamed += delta->text;
                                } else {
                                  broken = std::get<agent::ModelBroken>(event);
                                }
                              },
                              {});
  }

  tests::FakeClock clock;
  FakeHttp http;
  std::unique_ptr<agent::Provider> provider;
  agent::Conversation conversation{.messages = {agent::UserMessage{"Hi"}}};
  std::string streamed;
  std::optional<agent::ModelBroken> broken;
};

constexpr std::string_view k_refused =
    R"({"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",)"
    R"("param":"max_tokens","code":"unsupported_parameter"}})";

}  // namespace

TEST_CASE("wire_provider: asks, streams, and gives the reply", "[providers]") {
  Fixture run({{.body = k_hello + k_done, .headers = {{"x-request-id", "r1"}}}});
  const auto reply = run.ask();
  REQUIRE(reply);
  CHECK(reply->text == "Hello");
  CHECK(reply->request_id == "r1");
  CHECK(run.streamed == "Hello");
  CHECK(run.http.urls == std::vector<std::string>{"http://server/v1/chat/completions"});
  CHECK(agent::parse_json(run.http.bodies.at(0)));
}

TEST_CASE("wire_provider: the next body starts with the bytes of the last one", "[providers]") {
  Fixture run({k_ok, k_ok, k_ok});
  std::string before;
  for (int turn = 0; turn < 3; ++turn) {
    const auto reply = run.ask(1000 - turn);
    REQUIRE(reply);
    const std::string body = run.http.bodies.back();
    REQUIRE(agent::parse_json(body));
    const std::string messages = body.substr(0, body.find("],\"max_tokens\""));
    CHECK(messages.starts_with(before));
    CHECK(messages.size() > before.size());
    before = messages;
    run.conversation.messages.push_back(agent::AssistantMessage{*reply});
    run.conversation.messages.push_back(agent::UserMessage{"again"});
  }
  CHECK_THAT(run.http.bodies.back(), Catch::Contains("\"max_tokens\":998"));
}

TEST_CASE("wire_provider: a turn without content adds nothing", "[providers]") {
  Fixture run({k_ok, k_ok});
  REQUIRE(run.ask());
  run.conversation.messages.push_back(agent::AssistantMessage{});
  REQUIRE(run.ask());
  CHECK(run.http.bodies.at(0) == run.http.bodies.at(1));
}

TEST_CASE("wire_provider: a new revision is encoded from the start", "[providers]") {
  Fixture run({k_ok, k_ok});
  REQUIRE(run.ask());
  run.conversation.messages = {agent::UserMessage{"Something else"}};
  ++run.conversation.revision;
  REQUIRE(run.ask());
  CHECK_THAT(run.http.bodies.back(), Catch::Contains("Something else"));
  CHECK_THAT(run.http.bodies.back(), !Catch::Contains("\"Hi\""));
}

TEST_CASE("wire_provider: an error says whose it is", "[providers]") {
  Fixture run({{.status = 429,
                .body = R"({"error":{"message":"slow"}})",
                .headers = {{"retry-after", "2"}, {"x-request-id", "r"}}}});
  const auto reply = run.ask();
  REQUIRE_FALSE(reply);
  const agent::Error& error = reply.error();
  CHECK(error.code == Code::provider_rate_limited);
  CHECK(error.message == "slow");
  CHECK(error.provider == "label");
  CHECK(error.model == "m");
  CHECK(error.http_status == 429);
  CHECK(error.request_id == "r");
  CHECK(error.retry_after == std::chrono::seconds(2));
}

TEST_CASE("wire_provider: of the body of an error a megabyte is looked at", "[providers]") {
  constexpr std::size_t k_most = 1u << 20;
  const std::string begin = R"({"error":{"message":"too large","more":")";
  const std::string end = R"("}})";
  const auto message = [&](std::size_t size) {
    const std::string filling(size - begin.size() - end.size(), 'x');
    Fixture run({{.status = 400, .body = begin + filling + end}});
    return run.ask().error().message;
  };
  CHECK(message(k_most) == "too large");
  CHECK_THAT(message(k_most + 1), Catch::Contains(begin));
}

TEST_CASE("wire_provider: an error in the middle of a stream ends the exchange", "[providers]") {
  Fixture run({{.body = R"(data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]})"
                        "\n\n"
                        R"(data: {"error":{"code":503,"message":"gone"}})"
                        "\n\n" +
                        k_hello,
                .headers = {{"x-request-id", "r"}}}});
  const auto reply = run.ask();
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::provider_unavailable);
  CHECK(reply.error().http_status == 200);
  CHECK(reply.error().request_id == "r");
  CHECK(reply.error().provider == "label");
  CHECK(run.streamed == "Hel");
  REQUIRE(run.broken);
  CHECK(run.broken->estimated->output == 1);
  CHECK(run.broken->estimated->input > 0);
}

TEST_CASE("wire_provider: of an answer that broke off, what was reported counts", "[providers]") {
  const std::string told =
      R"(data: {"choices":[],"usage":{"prompt_tokens":500,"completion_tokens":40}})"
      "\n\n";
  const std::string call =
      R"(data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":")" +
      std::string(400, '1') +
      R"("}}]}}]})"
      "\n\n";
  const agent::Error lost{.code = Code::provider_timeout, .message = "silence"};
  Fixture reported({{.body = told, .error = lost}});
  CHECK_FALSE(reported.ask());
  REQUIRE(reported.broken);
  CHECK(reported.broken->usage == agent::Usage{.input = 500, .output = 40});
  CHECK_FALSE(reported.broken->estimated);
  Fixture more({{.body = told + call, .error = lost}});
  CHECK_FALSE(more.ask());
  REQUIRE(more.broken);
  CHECK(more.broken->counted() == agent::Usage{.input = 500, .output = 101});
  Fixture nothing({{.body = ": a comment\n\n", .error = lost}});
  CHECK_FALSE(nothing.ask());
  CHECK_FALSE(nothing.broken);
}

TEST_CASE("wire_provider: of an answer that broke off before its text, the request counts",
          "[providers]") {
  const agent::Error lost{.code = Code::provider_timeout, .message = "silence"};
  const std::string begun =
      R"(data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})"
      "\n\n";
  const std::string error = R"(data: {"error":{"message":"it broke","code":500}})"
                            "\n\n";
  for (const FakeHttp::Answer& answer : std::vector<FakeHttp::Answer>{
           {.body = begun, .error = lost},
           {.body = R"(data: {"choices":[{"index":0,"delta":{"content":"Hel)", .error = lost},
           {.body = begun + error},
           {.body = R"(data: {"choices":[{"index":0,"delta":{"content":42}}]})"
                    "\n\n"},
           {.body = R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"x":NaN})"},
       }) {
    CAPTURE(answer.body);
    Fixture run({answer});
    CHECK_FALSE(run.ask());
    REQUIRE(run.broken);
    CHECK(run.broken->counted().input > 0);
  }
  Fixture nothing({{.body = error}});
  CHECK_FALSE(nothing.ask());
  CHECK_FALSE(nothing.broken);
}

TEST_CASE("wire_provider: what is lost behind the end mark does not undo the answer",
          "[providers]") {
  const agent::Error lost{.code = Code::provider_timeout, .message = "silence"};
  Fixture complete({{.body = k_hello, .error = lost}});
  CHECK(complete.ask());
  Fixture cut({{.body = R"(data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]})"
                        "\n\n",
                .error = lost}});
  const auto reply = cut.ask();
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::provider_timeout);
  CHECK(reply.error().provider == "label");
}

TEST_CASE("wire_provider: a refused max_tokens is renamed once and for good", "[providers]") {
  providers::WireSettings own = settings();
  own.max_output_tokens = 50;
  Fixture run({{.status = 400, .body = std::string(k_refused)}, k_ok, k_ok}, own);
  REQUIRE(run.ask());
  REQUIRE(run.ask());
  REQUIRE(run.http.bodies.size() == 3);
  CHECK_THAT(run.http.bodies[0], Catch::Contains("\"max_tokens\":50"));
  CHECK_THAT(run.http.bodies[1], Catch::Contains("\"max_completion_tokens\":50"));
  CHECK(run.http.bodies[2] == run.http.bodies[1]);
}

TEST_CASE("wire_provider: a refusal that no other name cures is an error", "[providers]") {
  providers::WireSettings own = settings();
  own.max_output_tokens = 50;
  const FakeHttp::Answer refused{.status = 400, .body = std::string(k_refused)};
  Fixture twice({refused, refused}, own);
  CHECK_FALSE(twice.ask());
  CHECK(twice.http.bodies.size() == 2);
  Fixture not_sent({refused});
  const auto reply = not_sent.ask();
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::provider_invalid_request);
  CHECK(not_sent.http.bodies.size() == 1);
}

TEST_CASE("wire_provider: what another model sealed does not travel, in any protocol",
          "[providers]") {
  struct Protocol {
    std::unique_ptr<providers::Wire> (*make)(providers::WireSettings);
    std::string raw;  // of a turn with a signature
    std::string answer;
  };
  const auto& [make, raw, answer] = GENERATE(values<Protocol>({
      {providers::make_openai_chat,
       R"({"role":"assistant","content":"So","reasoning_details":[{"signature":"c2ln"}]})",
       R"({"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]})"},
      {providers::make_openai_responses,
       R"([{"type":"reasoning","encrypted_content":"c2ln","summary":[]}])",
       R"({"status":"completed","output":[{"type":"message","role":"assistant",)"
       R"("content":[{"type":"output_text","text":"Hello"}]}]})"},
      {providers::make_anthropic_messages,
       R"([{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"So"}])",
       R"({"type":"message","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn"})"},
      {providers::make_gemini,
       R"([{"text":"So","thoughtSignature":"c2ln"}])",
       R"({"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]})"},
      {providers::make_ollama,
       R"({"role":"assistant","content":"So","signature":"c2ln"})",
       R"({"message":{"content":"Hello"},"done":true,"done_reason":"stop"})"},
      {providers::make_bedrock,
       R"([{"reasoningContent":{"reasoningText":{"text":"","signature":"c2ln"}}},{"text":"So"}])",
       R"({"output":{"message":{"content":[{"text":"Hello"}]}},"stopReason":"end_turn"})"},
  }));
  const std::string protocol(make(settings())->name());
  INFO(protocol);
  struct Row {
    std::string origin;
    bool travels;
  };
  const auto row = GENERATE(
      values<Row>({{"label/m", true}, {"label/other", false}, {"other/m", false}, {"", false}}));
  INFO(row.origin);
  tests::FakeClock clock;
  FakeHttp http({{.body = answer}});
  providers::WireSettings own = settings();
  own.stream = false;
  const auto provider = providers::make_wire_provider(make(own), http, clock);
  const agent::Conversation conversation{
      .messages = {
          agent::UserMessage{"Hi"},
          agent::AssistantMessage{
              agent::Reply{.text = "So", .raw = raw, .protocol = protocol, .origin = row.origin}},
          agent::UserMessage{"Go on"},
      }};
  const auto reply = provider->complete({.conversation = conversation}, [](const auto&) {}, {});
  REQUIRE(reply);
  CHECK(reply->origin == "label/m");
  REQUIRE(agent::parse_json(http.bodies.at(0)));
  CHECK(http.bodies.at(0).contains("c2ln") == row.travels);
  CHECK((row.travels || http.bodies.at(0).contains("\"So\"")));
}

TEST_CASE("wire_provider: calls of another model go under ids that every server takes",
          "[providers]") {
  Fixture run({k_ok, k_ok});
  const auto turn = [&](std::string origin, std::string id) {
    run.conversation.messages.push_back(agent::AssistantMessage{
        agent::Reply{.tool_calls = {{id, "f", "{}"}}, .origin = std::move(origin)}});
    run.conversation.messages.push_back(agent::ToolMessage{std::move(id), "f", "out"});
  };
  turn("other/m", "functions.f:0");
  turn("label/m", "functions.f:0");  // ids begin anew with each turn at some servers
  turn("other/m", "toolu_1");
  REQUIRE(run.ask());
  const auto body = agent::parse_json(run.http.bodies.at(0));
  REQUIRE(body);
  const agent::Json& sent = body->at("messages");
  const auto id_of_call = [&](std::size_t at) {
    return sent.at(at).at("tool_calls").at(0).at("id").get<std::string>();
  };
  const auto id_of_result = [&](std::size_t at) {
    return sent.at(at).at("tool_call_id").get<std::string>();
  };
  CHECK(id_of_call(2).size() == 9);
  CHECK(id_of_result(3) == id_of_call(2));
  CHECK(id_of_call(4) == "functions.f:0");
  CHECK(id_of_result(5) == "functions.f:0");
  CHECK(id_of_call(6).size() == 9);
  CHECK(id_of_call(6) != id_of_call(2));
  CHECK(id_of_result(7) == id_of_call(6));

  REQUIRE(run.ask());
  CHECK(run.http.bodies.at(1) == run.http.bodies.at(0));
}
