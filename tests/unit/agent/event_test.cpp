#include "agent/event.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace {

agent::Event event(agent::EventBody body) {
  return {.run_id = "r",
          .seq = 7,
          .time = std::chrono::sys_days(std::chrono::year(2026) / 11 / 21),
          .body = std::move(body)};
}

// Gives every field of an event another value than its default.
class Filler {
 public:
  void operator()(std::string_view key, auto& value) { fill(value, key); }
  void kept(std::string_view key, auto& value) { fill(value, key); }
  void reported(std::string_view key, agent::Usage& usage) { fill(usage, key); }
  void or_null(std::string_view key, std::string& text) { fill(text, key); }
  void word(std::string_view, std::string& text, const auto& words) { text = words.back(); }
  void arguments(std::string_view, std::string& text) { text = R"({"n":1.50})"; }
  void constant(std::string_view, std::string_view) {}
  void group(std::string_view, const auto& fields) { fields(*this); }
  void members(agent::HasFields auto& value) {
    std::remove_reference_t<decltype(value)>::fields(value, *this);
  }
  void members(agent::SharedReply& shared) {
    agent::Reply reply;
    members(reply);
    shared = std::move(reply);
  }

 private:
  void fill(std::string& text, std::string_view key) { text = std::string(key) + " \"1\""; }
  void fill(bool& flag, std::string_view) { flag = true; }
  void fill(std::integral auto& number, std::string_view) { number = ++count_; }
  void fill(double& number, std::string_view) { number = ++count_ + 0.5; }
  void fill(std::chrono::milliseconds& time, std::string_view) {
    time = std::chrono::milliseconds(++count_);
  }
  void fill(agent::Money& money, std::string_view) { money = agent::Money::from_picos(++count_); }
  void fill(agent::Code& code, std::string_view) { code = agent::Code::provider_timeout; }
  template <typename Word>
    requires std::is_enum_v<Word>
  void fill(Word& word, std::string_view) {
    word = static_cast<Word>(1);
  }
  void fill(agent::Usage& usage, std::string_view) { usage = {.input = ++count_, .output = 1}; }
  void fill(agent::ModelUse& use, std::string_view) { use = {.model = "a/b", .turns = ++count_}; }
  void fill(agent::Error& error, std::string_view key) { error.message = key; }
  void fill(agent::RunResult& result, std::string_view key) { result.text = key; }
  void fill(agent::HasFields auto& value, std::string_view) { members(value); }
  template <typename Value>
  void fill(std::optional<Value>& value, std::string_view key) {
    fill(value.emplace(), key);
  }
  template <typename Value>
  void fill(std::vector<Value>& values, std::string_view key) {
    fill(values.emplace_back(), key);
  }
  void fill(std::set<std::string>& texts, std::string_view key) { texts.emplace(key); }
  template <typename Value>
  void fill(std::map<std::string, Value>& values, std::string_view key) {
    fill(values[std::string(key) + " \"1\""], key);
  }

  int count_ = 0;
};

// One of each type that is journaled, with all its fields.
template <typename... Bodies>
std::vector<agent::EventBody> filled(const std::variant<Bodies...>*) {
  std::vector<agent::EventBody> bodies;
  const auto add = [&](auto body) {
    Filler().members(body);
    if (agent::is_journaled(body)) {
      bodies.emplace_back(std::move(body));
    }
  };
  (add(Bodies()), ...);
  return bodies;
}

}  // namespace

TEST_CASE("event: each field of each journaled type is read back as it was written", "[agent]") {
  for (const agent::EventBody& body : filled(static_cast<const agent::EventBody*>(nullptr))) {
    const std::string text = agent::dump(event(body), agent::Detail::kept);
    INFO(text);
    const auto json = agent::parse_json(text);
    REQUIRE(json);
    const auto read = agent::event_from_json(*json);
    REQUIRE(read);
    CHECK(agent::dump(*read, agent::Detail::kept) == text);
    CHECK(agent::dump(agent::to_json(*read, agent::Detail::kept)) == text);
  }
}

TEST_CASE("event: each journaled type is read back as it was written", "[agent]") {
  const agent::Reply reply{.text = "t",
                           .reasoning = "because",
                           .tool_calls = {{"id1", "shell", R"({"command":"ls"})"}},
                           .stop_reason = agent::StopReason::tool_use,
                           .stop_reason_raw = "tool_calls",
                           .usage = {.input = 3, .output = 2, .reasoning = 1},
                           .model = "m",
                           .request_id = "req",
                           .raw = R"({"a": 1})",
                           .protocol = "openai_chat",
                           .origin = "openai/m",
                           .cost = agent::Money::parse("0.012345678901")};
  const std::vector<agent::EventBody> bodies = {
      agent::RunStarted{.version = "1",
                        .agent_name = "a",
                        .prompt = "p",
                        .attachments = {{"a.png", "image/png", "iVBORw0K"}},
                        .opening = {{.role = "user",
                                     .text = "o",
                                     .attachments = {{"b.png", "image/png", "iVBORw0K"}}},
                                    {.role = "assistant", .text = "a"}},
                        .tools = {"shell"},
                        .sandbox = {.mode = "read_only",
                                    .network = "deny",
                                    .layers = {"files"},
                                    .missing = {"mounts"}}},
      agent::TurnStarted{.turn = 2},
      agent::ModelRequested{.turn = 2, .model = "m", .messages = 3, .max_output_tokens = 9},
      agent::ModelBroken{.usage = {.input = 5},
                         .estimated = agent::Usage{.input = 5, .output = 7},
                         .cost = agent::Money::parse("0.1")},
      agent::ModelReset{.reason = "cut"},
      agent::ModelRetrying{.attempt = 1, .max_attempts = 4, .delay = std::chrono::milliseconds(20)},
      agent::ModelFallback{.from = "a/b",
                           .to = "c/d",
                           .skipped = true,
                           .error = {.code = agent::Code::provider_circuit_open,
                                     .message = "down",
                                     .cause = agent::Cause{agent::Code::provider_timeout, "slow"},
                                     .retry_after = std::chrono::milliseconds(1500),
                                     .provider = "a",
                                     .model = "b"},
                           .cooldown = std::chrono::milliseconds(20)},
      agent::ModelResponded{.turn = 2, .reply = reply, .duration_ms = 4},
      agent::UserSaid{.text = "go on", .reason = "truncated"},
      agent::ToolStarted{
          .turn = 2, .call_id = "id1", .name = "shell", .arguments = R"({"command":"ls"})"},
      agent::ToolFinished{.turn = 2,
                          .result = {.call_id = "id1",
                                     .name = "shell",
                                     .content = "x",
                                     .status = agent::ToolStatus::timed_out,
                                     .code = agent::Code::tool_timeout}},
      agent::LimitWarning{.limit = "limits.max_turns", .used = 4, .max = 5},
      agent::LimitWarning{.limit = "limits.max_cost_usd", .used = 0.85, .max = 1},
      agent::Warning{.message = "w", .help = "h", .kind = "replies_left"},
      agent::RunFinished{.result = {.exit_code = 0,
                                    .text = "done",
                                    .model = "c/d",
                                    .fallbacks = {{"a/b", "c/d", agent::Code::provider_quota, 3}}}},
  };
  for (const agent::EventBody& body : bodies) {
    INFO(agent::type_name(body));
    CHECK(agent::is_journaled(body));
    const agent::Json json = agent::to_json(event(body));
    const auto read = agent::event_from_json(json);
    REQUIRE(read);
    CHECK(agent::to_json(*read) == json);
  }
}

TEST_CASE("event: arguments that are not a JSON object are kept as the text that came", "[agent]") {
  agent::Reply reply{.tool_calls = {{"id1", "shell", R"({"command": "l)"}}};
  const agent::Json json = agent::to_json(event(agent::ModelResponded{.reply = reply}));
  CHECK(json["tool_calls"][0]["arguments"] == R"({"command": "l)");
  const auto read = agent::event_from_json(json);
  REQUIRE(read);
  CHECK(std::get<agent::ModelResponded>(read->body).reply->tool_calls == reply.tool_calls);
}

TEST_CASE("event: arguments that never came are null, and stay empty", "[agent]") {
  const agent::Reply reply{.tool_calls = {{"id1", "shell", ""}}};
  const agent::Json json = agent::to_json(event(agent::ModelResponded{.reply = reply}));
  CHECK(json["tool_calls"][0]["arguments"].is_null());
  const auto read = agent::event_from_json(json);
  REQUIRE(read);
  CHECK(std::get<agent::ModelResponded>(read->body).reply->tool_calls == reply.tool_calls);
}

TEST_CASE("event: the head names version, run, number, time and type", "[agent]") {
  const agent::Json json = agent::to_json(event(agent::TurnStarted{.turn = 1}));
  CHECK(
      agent::dump(json) ==
      R"({"v":1,"run":"r","seq":7,"ts":"2026-11-21T00:00:00.000Z","type":"turn.started","turn":1})");
}

TEST_CASE("event: what is no event is refused", "[agent]") {
  const char* text =
      GENERATE("{}",
               "[]",
               R"({"v":1,"run":"r","seq":1,"ts":"yesterday","type":"turn.started"})",
               R"({"v":1,"run":"r","seq":1,"ts":"2026-11-21T00:00:00.000Z","type":"turn.ended"})");
  INFO(text);
  const auto read = agent::event_from_json(*agent::parse_json(text));
  REQUIRE_FALSE(read);
  CHECK(read.error().code == agent::Code::storage_corrupt);
}
