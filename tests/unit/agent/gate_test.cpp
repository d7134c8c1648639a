#include "agent/gate.h"

#include "agent/loop.h"
#include "tests/support/fakes.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace {

using agent::Code;
using agent::Occasion;
using agent::Point;
using agent::Ruling;
using tests::ScriptedProvider;

class ScriptedGate final : public agent::Gate {
 public:
  using Judge = std::function<Ruling(const Occasion&)>;

  explicit ScriptedGate(Judge judge = {}) : judge_(std::move(judge)) {}

  Ruling judge(const Occasion& occasion, const agent::Emit&, std::stop_token) override {
    seen.push_back(std::string(to_string(occasion.point)) + (occasion.is_partial ? "?" : ""));
    return judge_ ? judge_(occasion) : Ruling();
  }
  std::optional<agent::Error> killed() override {
    return --lives < 0 ? std::optional(agent::Error{
                             .code = Code::guardrail_killed, .message = "killed", .help = {}})
                       : std::nullopt;
  }

  std::vector<std::string> seen;
  int lives = 1'000;

 private:
  Judge judge_;
};

ScriptedProvider::Answer says(std::string text, std::vector<agent::ToolCall> calls = {}) {
  return [text, calls](const agent::ModelRequest&, const agent::Emit&) {
    return agent::Result<agent::Reply>(agent::Reply{
        .text = text,
        .tool_calls = calls,
        .stop_reason = calls.empty() ? agent::StopReason::end_turn : agent::StopReason::tool_use,
        .usage = {.input = 10, .output = 5}});
  };
}

// One run over fakes with a gate.
struct Stage {
  explicit Stage(ScriptedGate::Judge judge = {}) : gate(std::move(judge)) {}

  agent::RunResult run(std::deque<ScriptedProvider::Answer> script) {
    ScriptedProvider provider(std::move(script));
    std::vector<agent::EventSink*> sinks{&sink};
    const agent::RunRequest request{
        .run_id = "run-1", .started = {.model = "test/model", .prompt = "hello"}, .plan = plan};
    auto result = agent::run(
        request,
        {.provider = provider, .toolbox = toolbox, .sinks = sinks, .clock = clock, .gate = &gate},
        cancellation);
    conversations = provider.conversations;
    return result;
  }

  ScriptedGate gate;
  agent::RunPlan plan;
  tests::FakeClock clock;
  std::vector<agent::ToolCall> ran;
  tests::FakeToolbox toolbox{[this](const agent::ToolCall& call) {
    ran.push_back(call);
    return agent::ToolResult{.content = "result of " + call.id};
  }};
  tests::RecordingSink sink;
  agent::Cancellation cancellation;
  std::vector<std::vector<agent::Message>> conversations;
};

const std::vector<agent::ToolCall> k_two_calls = {{"c1", "a", "{}"}, {"c2", "b", "{}"}};

Ruling ends(Code code) {
  return {.ending = agent::Error{.code = code, .message = "enough", .help = {}}};
}

// Says it at that point, and nothing elsewhere.
ScriptedGate::Judge at(Point point, Ruling ruling) {
  return [point, ruling](const Occasion& occasion) {
    return occasion.point == point && !occasion.is_partial ? ruling : Ruling();
  };
}

}  // namespace

TEST_CASE("gate: it is asked at every point, in this order", "[agent]") {
  Stage stage;
  const auto result = stage.run({says("", {{"c1", "a", "{}"}}), says("done")});
  CHECK(result.exit_code == 0);
  CHECK(stage.gate.seen == std::vector<std::string>{"run_start",
                                                    "pre_model",
                                                    "post_model",
                                                    "pre_tool_use",
                                                    "post_tool_use",
                                                    "pre_model",
                                                    "post_model",
                                                    "stop",
                                                    "run_end"});
}

TEST_CASE("gate: an ending ends the run, wherever it is said", "[agent]") {
  const Point point = GENERATE(Point::run_start,
                               Point::pre_model,
                               Point::post_model,
                               Point::pre_tool_use,
                               Point::post_tool_use,
                               Point::stop);
  INFO(to_string(point));
  Stage stage(at(point, ends(Code::hook_terminated)));
  const auto result = stage.run({says("part", k_two_calls), says("done")});
  CHECK(result.exit_code == 90);
  REQUIRE(result.stop);
  CHECK(result.stop->reason == "hook_terminated");
  const std::size_t ran = point == Point::stop ? 2 : point == Point::post_tool_use ? 1 : 0;
  CHECK(stage.ran.size() == ran);
  CHECK(stage.gate.seen.back() == "run_end");
  const bool has_text =
      point == Point::post_model || point == Point::pre_tool_use || point == Point::post_tool_use;
  CHECK(result.text == (has_text ? "part" : ""));
}

TEST_CASE("gate: what it says to a call goes to the model", "[agent]") {
  Stage stage([](const Occasion& occasion) -> Ruling {
    if (occasion.point == Point::pre_tool_use && occasion.call->id == "c1") {
      return {.refusal = "not this one"};
    }
    if (occasion.point == Point::pre_tool_use) {
      return {.context = {"noted"}};
    }
    if (occasion.point == Point::post_tool_use) {
      return {.text = "changed", .context = {"added"}};
    }
    return {};
  });
  stage.run({says("", k_two_calls), says("done")});
  REQUIRE(stage.conversations.size() == 2);
  const auto& messages = stage.conversations[1];
  CHECK(std::get<agent::ToolMessage>(messages[2]).content == "not this one");
  CHECK(std::get<agent::ToolMessage>(messages[3]).content == "changed\nnoted\nadded");
  CHECK(stage.ran.size() == 1);
}

TEST_CASE("gate: a result is withheld where it is refused, or ends the run", "[agent]") {
  Ruling ruling = GENERATE(Ruling{.refusal = "secret"}, ends(Code::guardrail_killed));
  Stage stage(at(Point::post_tool_use, ruling));
  stage.run({says("", {{"c1", "a", "{}"}}), says("done")});
  for (const agent::Event& event : stage.sink.events) {
    if (const auto* done = std::get_if<agent::ToolFinished>(&event.body)) {
      CHECK(done->result.content == (ruling.refusal ? "[withheld: secret]" : "[withheld: enough]"));
    }
  }
}

TEST_CASE("gate: the run is sent on, and told how often", "[agent]") {
  std::vector<std::pair<bool, int>> asked;
  Stage stage([&](const Occasion& occasion) -> Ruling {
    if (occasion.point != Point::stop) {
      return {};
    }
    asked.emplace_back(occasion.again, occasion.denials);
    return asked.size() == 1   ? Ruling{.refusal = "tests first"}
           : asked.size() == 2 ? Ruling{.refusal = "no names", .is_denial = true}
                               : Ruling{};
  });
  const auto result = stage.run({says("one"), says("two"), says("three")});
  CHECK(result.text == "three");
  CHECK(asked == std::vector<std::pair<bool, int>>{{false, 0}, {true, 0}, {true, 1}});
  CHECK(std::get<agent::UserMessage>(stage.conversations[1].back()).text == "tests first");
}

TEST_CASE("gate: an answer that was not let through is in no result", "[agent]") {
  SECTION("refused for good") {
    Stage stage(at(Point::stop, ends(Code::guardrail_denied)));
    const auto result = stage.run({says("the password")});
    CHECK(result.exit_code == 91);
    CHECK(result.text.empty());
    CHECK_FALSE(result.partial);
  }
  SECTION("partial, at a limit") {
    Stage stage([](const Occasion& occasion) -> Ruling {
      return occasion.is_partial ? Ruling{.refusal = "no"} : Ruling{};
    });
    stage.plan.limits.max_turns = 1;
    const auto result = stage.run({says("the password", {{"c1", "a", "{}"}})});
    CHECK(result.exit_code == 80);
    CHECK(result.text.empty());
    CHECK_FALSE(result.partial);
  }
  SECTION("partial, and changed") {
    Stage stage([](const Occasion& occasion) -> Ruling {
      return occasion.is_partial ? Ruling{.text = "***"} : Ruling{};
    });
    stage.plan.limits.max_turns = 1;
    const auto result = stage.run({says("the password", {{"c1", "a", "{}"}})});
    CHECK(result.text == "***");
    CHECK(result.partial);
  }
}

TEST_CASE("gate: the kill switch counts before each request and each call", "[agent]") {
  struct Row {
    int lives;
    std::size_t requests;
    std::size_t calls;
  };
  const Row row = GENERATE(Row{0, 0, 0}, Row{1, 1, 0}, Row{2, 1, 1}, Row{3, 1, 2});
  Stage stage;
  stage.gate.lives = row.lives;
  const auto result = stage.run({says("", k_two_calls), says("done")});
  CHECK(result.exit_code == 96);
  CHECK(stage.conversations.size() == row.requests);
  CHECK(stage.ran.size() == row.calls);
}

TEST_CASE("gate: a guardrail's event changes prompt and answer, and is on the bill", "[agent]") {
  agent::State state{agent::RunPlan{}};
  advance(state, agent::RunStarted{.model = "a/b", .prompt = "call 555-1234"});
  advance(state,
          agent::GuardrailRan{.point = Point::run_start,
                              .judge = agent::ModelUse{.model = "c/d",
                                                       .turns = 1,
                                                       .usage = {.input = 7},
                                                       .cost = agent::Money::parse("0.25")},
                              .text = "call ***"});
  CHECK(std::get<agent::UserMessage>(state.conversation.messages[0]).text == "call ***");
  CHECK(state.usage.input == 7);
  CHECK(state.cost == agent::Money::parse("0.25"));
  REQUIRE(state.models.size() == 1);
  CHECK(state.models[0].model == "c/d");
}
