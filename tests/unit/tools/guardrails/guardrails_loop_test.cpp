// Guardrails where they are asked: in a run.
#include "agent/loop.h"
#include "tests/unit/tools/guardrails/guardrail_support.h"

#include <catch2/catch.hpp>

#include <deque>
#include <fstream>
#include <string>
#include <vector>

namespace {

using agent::Code;
using tests::Action;
using tests::check;
using tests::GuardrailStage;
using tests::Look;
using tests::Of;
using tests::ScriptedProvider;

agent::Reply text_reply(std::string text) {
  return {.text = std::move(text), .stop_reason = agent::StopReason::end_turn};
}

ScriptedProvider::Answer plain(std::string text) {
  return tests::answers(text_reply(std::move(text)));
}

ScriptedProvider::Answer calls(std::vector<agent::ToolCall> list, std::string text = "") {
  return tests::answers({.text = std::move(text),
                         .tool_calls = std::move(list),
                         .stop_reason = agent::StopReason::tool_use});
}

struct Stage : GuardrailStage {
  agent::RunResult run(std::vector<agent::GuardrailSpec> checks,
                       std::deque<ScriptedProvider::Answer> script,
                       int retries = 2) {
    const auto guardrails = interceptor(std::move(checks), retries);
    ScriptedProvider provider(std::move(script));
    std::vector<agent::EventSink*> sinks{&sink};
    auto result = agent::run(request,
                             {.provider = provider,
                              .toolbox = toolbox,
                              .sinks = sinks,
                              .clock = fake_clock,
                              .interceptor = guardrails.get()},
                             cancellation);
    conversations = provider.conversations;
    return result;
  }

  agent::RunRequest request{.run_id = "run-1",
                            .started = {.agent_name = "test",
                                        .model = "test/model",
                                        .instructions = "be brief",
                                        .prompt = "I am ada@example.org"}};
  tests::FakeClock fake_clock;
  std::vector<std::string> ran;
  tests::FakeToolbox toolbox{[this](const agent::ToolCall& call) {
    ran.push_back(call.id);
    if (call.name == "kill") {
      std::ofstream(kill_file).flush();
    }
    return agent::ToolResult{.content = "from eve@example.org"};
  }};
  tests::RecordingSink sink;
  agent::Cancellation cancellation;
  std::vector<std::vector<agent::Message>> conversations;
};

}  // namespace

TEST_CASE("guardrails in a run: a denied prompt sends nothing", "[tools]") {
  Stage stage;
  const auto result = stage.run({check(Of::input, Look::find, "email")}, {plain("hi")});
  CHECK(result.exit_code == 91);
  CHECK(stage.conversations.empty());
}

TEST_CASE("guardrails in a run: the model reads the redacted prompt", "[tools]") {
  Stage stage;
  const auto result =
      stage.run({check(Of::input, Look::find, "email", Action::redact)}, {plain("hi")});
  CHECK(result.exit_code == 0);
  REQUIRE(stage.conversations.size() == 1);
  CHECK(std::get<agent::UserMessage>(stage.conversations[0][0]).text == "I am [redacted email]");
}

TEST_CASE("guardrails in a run: an answer is denied until one passes", "[tools]") {
  Stage stage;
  const auto result =
      stage.run({check(Of::output, Look::find, "email")},
                {plain("bob@example.org"), plain("eve@example.org"), plain("Bob.")});
  CHECK(result.exit_code == 0);
  CHECK(result.text == "Bob.");
  CHECK(result.turns == 3);
  REQUIRE(stage.conversations.size() == 3);
  CHECK(std::get<agent::UserMessage>(stage.conversations[1].back())
            .text.starts_with("Nobody has read your last answer"));
}

TEST_CASE("guardrails in a run: one denial too many ends it, without the text", "[tools]") {
  for (const int retries : {0, 2}) {
    Stage stage;
    std::deque<ScriptedProvider::Answer> script;
    for (int i = 0; i < 5; ++i) {
      script.push_back(plain("bob@example.org"));
    }
    const auto result =
        stage.run({check(Of::output, Look::find, "email")}, std::move(script), retries);
    CHECK(result.exit_code == 91);
    CHECK(result.turns == retries + 1);
    CHECK(result.text.empty());
    CHECK_FALSE(result.partial);
    CHECK(result.error->code == Code::guardrail_denied);
  }
}

TEST_CASE("guardrails in a run: what is redacted of the answer is not in the result", "[tools]") {
  Stage stage;
  const auto result = stage.run({check(Of::output, Look::find, "email", Action::redact)},
                                {plain("Ask bob@example.org.")});
  CHECK(result.exit_code == 0);
  CHECK(result.text == "Ask [redacted email].");
}

TEST_CASE("guardrails in a run: a refused call does not run, and the run goes on", "[tools]") {
  Stage stage;
  const auto result =
      stage.run({check(Of::tool_call, Look::pattern, "rm -rf")},
                {calls({{"1", "x", R"({"a":"rm -rf /"})"}, {"2", "x", "{}"}}), plain("done")});
  CHECK(result.exit_code == 0);
  CHECK(result.denials == 1);
  CHECK(stage.ran == std::vector<std::string>{"2"});
}

TEST_CASE("guardrails in a run: a refused result is withheld from the model", "[tools]") {
  Stage stage;
  stage.run({check(Of::tool_result, Look::find, "email")},
            {calls({{"1", "x", "{}"}}), plain("done")});
  REQUIRE(stage.conversations.size() == 2);
  CHECK(std::get<agent::ToolMessage>(stage.conversations[1].back()).content ==
        "[withheld: the guardrail `it` refused this result: it has an e-mail address]");
}

TEST_CASE("guardrails in a run: a redacted result is what the model reads", "[tools]") {
  Stage stage;
  stage.run({check(Of::tool_result, Look::find, "email", Action::redact)},
            {calls({{"1", "x", "{}"}}), plain("done")});
  REQUIRE(stage.conversations.size() == 2);
  CHECK(std::get<agent::ToolMessage>(stage.conversations[1].back()).content ==
        "from [redacted email]");
}

TEST_CASE("guardrails in a run: a partial answer is withheld at a limit", "[tools]") {
  Stage stage;
  stage.request.started.plan.limits.max_turns = 1;
  const auto script = [] {
    return std::deque<ScriptedProvider::Answer>{calls({{"1", "x", "{}"}}, "Mail bob@example.org.")};
  };
  CHECK(stage.run({}, script()).text == "Mail bob@example.org.");
  const auto denied = stage.run({check(Of::output, Look::find, "email")}, script());
  CHECK(denied.exit_code == 80);
  CHECK(denied.text.empty());
  CHECK_FALSE(denied.partial);
  const auto redacted =
      stage.run({check(Of::output, Look::find, "email", Action::redact)}, script());
  CHECK(redacted.text == "Mail [redacted email].");
  CHECK(redacted.partial);
}

TEST_CASE("guardrails in a run: the kill switch, before, between turns, between calls", "[tools]") {
  Stage stage;
  stage.kill_file = stage.world.file("stop");
  const auto between_calls =
      stage.run({}, {calls({{"1", "kill", "{}"}, {"2", "x", "{}"}}), plain("done")});
  CHECK(between_calls.exit_code == 96);
  CHECK(stage.ran == std::vector<std::string>{"1"});
  CHECK(stage.conversations.size() == 1);

  const auto before = stage.run({}, {plain("done")});
  CHECK(before.exit_code == 96);
  CHECK(stage.conversations.empty());

  std::filesystem::remove(stage.kill_file);
  const auto between_turns = stage.run({}, {calls({{"1", "kill", "{}"}}), plain("done")});
  CHECK(between_turns.exit_code == 96);
  CHECK(between_turns.turns == 1);
  CHECK(between_turns.error->message.contains("the kill switch is on"));
}

TEST_CASE("guardrails in a run: a judge is on the bill", "[tools]") {
  Stage stage;
  stage.judge = ScriptedProvider({tests::answers(tests::says(R"({"allow": false})")),
                                  tests::answers(tests::says(R"({"allow": true})"))});
  const auto result =
      stage.run({check(Of::output, Look::judge, "Is it?")}, {plain("one"), plain("two")});
  CHECK(result.exit_code == 0);
  CHECK(result.text == "two");
  CHECK(result.usage.input == 20);
  REQUIRE(result.models.size() == 2);
  CHECK(result.models[1].model == "test/judge");
  CHECK(result.models[1].cost == agent::Money::parse("0.02"));
}
