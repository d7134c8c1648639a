#include "providers/recording/script_provider.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using agent::Code;
using agent::Milliseconds;
using agent::ReplayStep;
using namespace std::chrono_literals;

class CountingClock final : public agent::Clock {
 public:
  Steady now() const override { return {}; }
  Wall wall() const override { return {}; }
  bool sleep_for(Milliseconds time, std::stop_token stop) override {
    waited += time;
    ++waits;
    return !stop.stop_requested();
  }
  Milliseconds waited{0};
  int waits = 0;
};

ReplayStep says(std::string text) {
  return {.reply = {.text = std::move(text)}};
}

class Player {
 public:
  explicit Player(std::vector<ReplayStep> steps, bool is_streamed = true)
      : provider_({.file = "demo.replay.yaml", .steps = std::move(steps)}, clock, is_streamed) {}

  agent::Result<agent::Reply> ask() {
    return provider_.complete(
        {.conversation = conversation},
        [this](const agent::EventBody& event) {
          const auto& delta = std::get<agent::ModelDelta>(event);
          (delta.kind == agent::ModelDelta::Kind::text ? text : reasoning) += delta.text;
          pieces.push_back(delta.text);
        },
        source.get_token());
  }

  CountingClock clock;
  std::stop_source source;
  agent::Conversation conversation{.messages = {agent::UserMessage{"Greet the world"}}};
  std::string text;
  std::string reasoning;
  std::vector<std::string> pieces;

 private:
  providers::ScriptProvider provider_;
};

}  // namespace

TEST_CASE("replay: replies come in the order of the script", "[providers]") {
  Player player({says("one"), says("two")});
  CHECK(player.ask()->text == "one");
  CHECK(player.ask()->text == "two");
}

TEST_CASE("replay: a script that is played to its end is a miss", "[providers]") {
  Player player({says("one")});
  REQUIRE(player.ask());
  const auto result = player.ask();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::replay_miss);
  CHECK(
      result.error().message ==
      "the replay script demo.replay.yaml has no reply left: all of its 1 steps have been played");
}

TEST_CASE("replay: an empty script is a miss", "[providers]") {
  Player player({});
  CHECK(player.ask().error().code == Code::replay_miss);
}

TEST_CASE("replay: text and reasoning are streamed in words", "[providers]") {
  Player player({{.reply = {.text = "Hello  big\nworld", .reasoning = "think first"},
                  .delay = 100ms,
                  .chunk_delay = 10ms}});
  const auto reply = player.ask();
  REQUIRE(reply);
  CHECK(player.pieces == std::vector<std::string>{"think ", "first", "Hello  ", "big\n", "world"});
  CHECK(player.text == "Hello  big\nworld");
  CHECK(player.reasoning == "think first");
  CHECK(player.clock.waited == 140ms);
}

TEST_CASE("replay: nothing is streamed where the model is asked for a whole answer",
          "[providers]") {
  Player player({says("Hello world")}, false);
  CHECK(player.ask()->text == "Hello world");
  CHECK(player.pieces.empty());
}

TEST_CASE("replay: a piece never cuts a character", "[providers]") {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "日本";
  }
  Player player({says(text)});
  REQUIRE(player.ask());
  CHECK(player.text == text);
  CHECK(player.pieces.size() > 10);
  for (const auto& piece : player.pieces) {
    CHECK(piece.size() % 3 == 0);
  }
}

TEST_CASE("replay: a huge reply comes in a bounded number of pieces", "[providers]") {
  std::string text;
  while (text.size() < 5'000'000) {
    text += "word ";
  }
  Player player({says(text)});
  REQUIRE(player.ask());
  CHECK(player.text == text);
  CHECK(player.pieces.size() <= 1001);
}

TEST_CASE("replay: a fault is an error with everything the script says", "[providers]") {
  Player player({{.fault = agent::ReplayFault{.code = Code::provider_rate_limited,
                                              .message = "slow down",
                                              .http_status = 429,
                                              .retry_after = 2s}},
                 says("better")});
  const auto result = player.ask();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::provider_rate_limited);
  CHECK(result.error().message == "slow down");
  CHECK(result.error().http_status == 429);
  CHECK(result.error().retry_after == Milliseconds(2s));
  CHECK(player.ask()->text == "better");
}

TEST_CASE("replay: a fault with text cuts the stream after it", "[providers]") {
  Player player({{.reply = {.text = "half an answer"},
                  .fault = agent::ReplayFault{.code = Code::provider_stream_broken}}});
  const auto result = player.ask();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::provider_stream_broken);
  CHECK(result.error().message == "the replay script says provider.stream_broken");
  CHECK(player.text == "half an answer");
}

TEST_CASE("replay: a step may be repeated, a few times or for ever", "[providers]") {
  auto thrice = says("again");
  thrice.repeat = 3;
  auto always = says("always");
  always.repeat = 0;
  Player player({thrice, always});
  for (int i = 0; i < 3; ++i) {
    CHECK(player.ask()->text == "again");
  }
  for (int i = 0; i < 50; ++i) {
    CHECK(player.ask()->text == "always");
  }
}

TEST_CASE("replay: what a step expects may stand in any message since the last reply",
          "[providers]") {
  auto step = says("ok");
  step.expect = {"42", "second"};
  Player player({step});
  player.conversation.messages = {agent::UserMessage{"start"},
                                  agent::AssistantMessage{},
                                  agent::ToolMessage{.content = "the answer is 42"},
                                  agent::ToolMessage{.content = "a second result"}};
  CHECK(player.ask());
}

TEST_CASE("replay: an expectation that older messages fulfil is a miss that says all",
          "[providers]") {
  auto step = says("ok");
  step.expect = {"start"};
  step.line = 12;
  Player player({step});
  player.conversation.messages = {agent::UserMessage{"start"},
                                  agent::AssistantMessage{},
                                  agent::ToolMessage{.content = "no such file"}};
  const auto result = player.ask();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::replay_miss);
  CHECK(result.error().message ==
        "the replay step at demo.replay.yaml:12 expects \"start\" in the newest message, "
        "which is: no such file");
  REQUIRE(result.error().where);
  CHECK(result.error().where->file == "demo.replay.yaml");
  CHECK(result.error().where->line == 12);
}

TEST_CASE("replay: calls without an id get one that the conversation does not have",
          "[providers]") {
  auto step = ReplayStep{.reply = {.tool_calls = {{.name = "shell"}, {.name = "glob"}}}};
  step.repeat = 2;
  Player player({step});
  auto first = player.ask();
  REQUIRE(first);
  CHECK(first->stop_reason == agent::StopReason::tool_use);
  CHECK(first->tool_calls[0] == agent::ToolCall{"call_1", "shell", "{}"});
  CHECK(first->tool_calls[1].id == "call_2");
  player.conversation.messages.emplace_back(agent::AssistantMessage{*first});
  CHECK(player.ask()->tool_calls[0].id == "call_3");
}

TEST_CASE("replay: what the script leaves out is filled in as a server would", "[providers]") {
  Player player({says("bye"), {.reply = {.stop_reason = agent::StopReason::max_tokens}}});
  const auto bye = player.ask();
  CHECK(bye->stop_reason == agent::StopReason::end_turn);
  CHECK(bye->stop_reason_raw == "end_turn");
  CHECK(bye->protocol == "replay");
  CHECK(player.ask()->stop_reason == agent::StopReason::max_tokens);
}

TEST_CASE("replay: a stop ends the waiting", "[providers]") {
  Player player({{.reply = {.text = "never"}, .delay = 1h}});
  player.source.request_stop();
  const auto result = player.ask();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::run_cancelled);
  CHECK(player.text.empty());
}

TEST_CASE("replay: a stop ends the stream between two pieces", "[providers]") {
  agent::SystemClock clock;
  std::stop_source source;
  providers::ScriptProvider provider(
      {.file = "x", .steps = {{.reply = {.text = "one two three"}, .chunk_delay = 30s}}},
      clock,
      true);
  const agent::Conversation conversation;
  std::string text;
  const auto result = provider.complete(
      {.conversation = conversation},
      [&](const agent::EventBody& event) {
        text += std::get<agent::ModelDelta>(event).text;
        source.request_stop();
      },
      source.get_token());
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::run_cancelled);
  CHECK(text == "one ");
}
