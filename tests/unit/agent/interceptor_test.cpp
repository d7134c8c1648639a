#include "agent/interceptor.h"

#include "agent/loop.h"
#include "tests/support/fakes.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using agent::Code;
using agent::HookContext;
using agent::HookDecision;
using agent::HookPoint;
using tests::ScriptedProvider;

class ScriptedInterceptor final : public agent::Interceptor {
 public:
  using Judge = std::function<HookDecision(const HookContext&)>;

  explicit ScriptedInterceptor(Judge judge = {}) : judge_(std::move(judge)) {}

  HookDecision judge(const HookContext& hook_context,
                     const agent::Emit&,
                     std::stop_token stop) override {
    stopped = std::move(stop);
    seen.push_back(std::string(to_string(hook_context.point)) +
                   (hook_context.is_partial ? "?" : ""));
    return judge_ ? judge_(hook_context) : HookDecision();
  }
  std::optional<agent::Error> killed() override {
    return --lives < 0 ? std::optional(agent::Error{
                             .code = Code::guardrail_killed, .message = "killed", .help = {}})
                       : std::nullopt;
  }

  void set(Judge judge) { judge_ = std::move(judge); }

  std::vector<std::string> seen;
  std::stop_token stopped;  // of what is judged now
  int lives = 1'000;

 private:
  Judge judge_;
};

ScriptedProvider::Answer model_says(std::string text, std::vector<agent::ToolCall> calls = {}) {
  return [text, calls](const agent::ModelRequest&, const agent::Emit&) {
    return agent::Result<agent::Reply>(agent::Reply{
        .text = text,
        .tool_calls = calls,
        .stop_reason = calls.empty() ? agent::StopReason::end_turn : agent::StopReason::tool_use,
        .usage = {.input = 10, .output = 5}});
  };
}

// One run over fakes with an interceptor.
struct InterceptedRun {
  explicit InterceptedRun(ScriptedInterceptor::Judge judge = {}) : interceptor(std::move(judge)) {}

  agent::RunResult run(std::deque<ScriptedProvider::Answer> script) {
    ScriptedProvider provider(std::move(script));
    std::vector<agent::EventSink*> sinks{&sink};
    const agent::RunRequest request{
        .run_id = "run-1", .started = {.model = "test/model", .prompt = "hello", .plan = plan}};
    auto result = agent::run(request,
                             {.provider = provider,
                              .toolbox = toolbox,
                              .sinks = sinks,
                              .clock = clock,
                              .interceptor = &interceptor},
                             cancellation);
    conversations = provider.conversations;
    return result;
  }

  ScriptedInterceptor interceptor;
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

HookDecision ends(Code code) {
  return {.ending = agent::Error{.code = code, .message = "enough", .help = {}}};
}

// Says it at that point, and nothing elsewhere.
ScriptedInterceptor::Judge at(HookPoint point, HookDecision decision) {
  return [point, decision](const HookContext& hook_context) {
    return hook_context.point == point && !hook_context.is_partial ? decision : HookDecision();
  };
}

}  // namespace

TEST_CASE("interceptor: it is asked at every point, in this order", "[agent]") {
  InterceptedRun stage;
  const auto result = stage.run({model_says("", {{"c1", "a", "{}"}}), model_says("done")});
  CHECK(result.exit_code == 0);
  CHECK(stage.interceptor.seen == std::vector<std::string>{"run_start",
                                                           "pre_model",
                                                           "post_model",
                                                           "pre_tool_use",
                                                           "post_tool_use",
                                                           "pre_model",
                                                           "post_model",
                                                           "stop",
                                                           "run_end"});
}

TEST_CASE("interceptor: an ending ends the run, wherever it is said", "[agent]") {
  const HookPoint point = GENERATE(HookPoint::run_start,
                                   HookPoint::pre_model,
                                   HookPoint::post_model,
                                   HookPoint::pre_tool_use,
                                   HookPoint::post_tool_use,
                                   HookPoint::stop);
  INFO(to_string(point));
  InterceptedRun stage(at(point, ends(Code::hook_terminated)));
  const auto result = stage.run({model_says("part", k_two_calls), model_says("done")});
  CHECK(result.exit_code == 90);
  REQUIRE(result.stop);
  CHECK(result.stop->reason == "hook_terminated");
  const std::size_t ran = point == HookPoint::stop ? 2 : point == HookPoint::post_tool_use ? 1 : 0;
  CHECK(stage.ran.size() == ran);
  CHECK(stage.interceptor.seen.back() == "run_end");
  const bool has_text = point == HookPoint::post_model || point == HookPoint::pre_tool_use ||
                        point == HookPoint::post_tool_use;
  CHECK(result.text == (has_text ? "part" : ""));
}

TEST_CASE("interceptor: what it says to a call goes to the model", "[agent]") {
  InterceptedRun stage([](const HookContext& hook_context) -> HookDecision {
    if (hook_context.point == HookPoint::pre_tool_use && hook_context.call->id == "c1") {
      return {.refusal = "not this one"};
    }
    if (hook_context.point == HookPoint::pre_tool_use) {
      return {.context = {"noted"}};
    }
    if (hook_context.point == HookPoint::post_tool_use) {
      return {.text = "changed", .context = {"added"}};
    }
    return {};
  });
  stage.run({model_says("", k_two_calls), model_says("done")});
  REQUIRE(stage.conversations.size() == 2);
  const auto& messages = stage.conversations[1];
  CHECK(std::get<agent::ToolMessage>(messages[2]).content == "not this one");
  CHECK(std::get<agent::ToolMessage>(messages[3]).content == "changed\nnoted\nadded");
  CHECK(stage.ran.size() == 1);
}

TEST_CASE("interceptor: a result is withheld where it is refused, or ends the run", "[agent]") {
  HookDecision decision = GENERATE(HookDecision{.refusal = "secret"}, ends(Code::guardrail_killed));
  InterceptedRun stage(at(HookPoint::post_tool_use, decision));
  stage.run({model_says("", {{"c1", "a", "{}"}}), model_says("done")});
  for (const agent::Event& event : stage.sink.events) {
    if (const auto* done = std::get_if<agent::ToolFinished>(&event.body)) {
      CHECK(done->result.content ==
            (decision.refusal ? "[withheld: secret]" : "[withheld: enough]"));
    }
  }
}

TEST_CASE("interceptor: the run is sent on, and told how often", "[agent]") {
  std::vector<std::pair<bool, int>> asked;
  InterceptedRun stage([&](const HookContext& hook_context) -> HookDecision {
    if (hook_context.point != HookPoint::stop) {
      return {};
    }
    asked.emplace_back(hook_context.again, hook_context.denials);
    return asked.size() == 1   ? HookDecision{.refusal = "tests first"}
           : asked.size() == 2 ? HookDecision{.refusal = "no names", .is_denial = true}
                               : HookDecision{};
  });
  const auto result = stage.run({model_says("one"), model_says("two"), model_says("three")});
  CHECK(result.text == "three");
  CHECK(asked == std::vector<std::pair<bool, int>>{{false, 0}, {true, 0}, {true, 1}});
  CHECK(std::get<agent::UserMessage>(stage.conversations[1].back()).text == "tests first");
}

TEST_CASE("interceptor: an answer that was not let through is in no result", "[agent]") {
  SECTION("refused for good") {
    InterceptedRun stage(at(HookPoint::stop, ends(Code::guardrail_denied)));
    const auto result = stage.run({model_says("the password")});
    CHECK(result.exit_code == 91);
    CHECK(result.text.empty());
    CHECK_FALSE(result.partial);
  }
  SECTION("partial, at a limit") {
    InterceptedRun stage([](const HookContext& hook_context) -> HookDecision {
      return hook_context.is_partial ? HookDecision{.refusal = "no"} : HookDecision{};
    });
    stage.plan.limits.max_turns = 1;
    const auto result = stage.run({model_says("the password", {{"c1", "a", "{}"}})});
    CHECK(result.exit_code == 80);
    CHECK(result.text.empty());
    CHECK_FALSE(result.partial);
  }
  SECTION("partial, and changed") {
    InterceptedRun stage([](const HookContext& hook_context) -> HookDecision {
      return hook_context.is_partial ? HookDecision{.text = "***"} : HookDecision{};
    });
    stage.plan.limits.max_turns = 1;
    const auto result = stage.run({model_says("the password", {{"c1", "a", "{}"}})});
    CHECK(result.text == "***");
    CHECK(result.partial);
  }
}

TEST_CASE("interceptor: the kill switch counts before each request and each call", "[agent]") {
  struct Row {
    int lives;
    std::size_t requests;
    std::size_t calls;
  };
  const Row row = GENERATE(Row{0, 0, 0}, Row{1, 1, 0}, Row{2, 1, 1}, Row{3, 1, 2});
  InterceptedRun stage;
  stage.interceptor.lives = row.lives;
  const auto result = stage.run({model_says("", k_two_calls), model_says("done")});
  CHECK(result.exit_code == 96);
  CHECK(stage.conversations.size() == row.requests);
  CHECK(stage.ran.size() == row.calls);
}

TEST_CASE("interceptor: a guardrail's event changes prompt and answer, and is on the bill",
          "[agent]") {
  agent::State state;
  advance(state, agent::RunStarted{.model = "a/b", .prompt = "call 555-1234"});
  advance(state,
          agent::GuardrailRan{.point = HookPoint::run_start,
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

TEST_CASE("interceptor: what looks at the end is waited for until the run is stopped", "[agent]") {
  InterceptedRun stage;
  const std::stop_token& stopped = stage.interceptor.stopped;
  bool was_stopped = true;
  const auto at_the_end = [&](const std::function<void()>& act) {
    stage.interceptor.set([&, act](const HookContext& hook_context) {
      if (hook_context.point == HookPoint::run_end) {
        was_stopped = stopped.stop_requested();
        act();
        for (int ms = 0; ms < 5'000 && !stopped.stop_requested(); ++ms) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        CHECK(stopped.stop_requested());
      }
      return HookDecision();
    });
  };
  SECTION("by a signal, which leaves the ending as it is") {
    at_the_end([&] { stage.cancellation.signal(SIGTERM); });
    CHECK(stage.run({model_says("done")}).exit_code == 0);
    CHECK_FALSE(was_stopped);
    CHECK(stage.clock.slept.empty());
  }
  SECTION("or, where that was the ending, for 10 seconds more") {
    at_the_end([] {});
    const auto result = stage.run(
        {[&](const agent::ModelRequest&, const agent::Emit&) -> agent::Result<agent::Reply> {
          stage.cancellation.signal(SIGTERM);
          return agent::fail(Code::run_cancelled, "stopped");
        }});
    CHECK(result.exit_code == 143);
    CHECK(stage.clock.slept == std::vector{std::chrono::milliseconds(10'000)});
  }
}
