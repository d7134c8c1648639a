#include "agent/state.h"

#include "agent/clock.h"
#include "agent/loop.h"
#include "agent/step.h"
#include "tests/support/fakes.h"
#include "tests/support/folded.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <deque>
#include <string>
#include <variant>
#include <vector>

namespace {

using tests::ScriptedProvider;

agent::Money dollars(const char* text) {
  return *agent::Money::parse(text);
}

agent::Reply reply_of(std::string text,
                      std::vector<agent::ToolCall> calls = {},
                      agent::StopReason reason = agent::StopReason::end_turn) {
  return {.text = std::move(text),
          .tool_calls = std::move(calls),
          .stop_reason = reason,
          .usage = {.input = 10, .output = 5, .cache_read = 2},
          .cost = dollars("0.012345678901")};
}

ScriptedProvider::Answer gives(agent::Reply reply, std::vector<agent::EventBody> before = {}) {
  return [reply = std::move(reply), before = std::move(before)](const agent::ModelRequest&,
                                                                const agent::Emit& emit) {
    for (const agent::EventBody& body : before) {
      emit(body);
    }
    return agent::Result<agent::Reply>(reply);
  };
}

ScriptedProvider::Answer breaks(agent::Code code) {
  return [code](const agent::ModelRequest&, const agent::Emit& emit) {
    emit(agent::ModelDelta{.text = "so f"});
    emit(agent::ModelBroken{.usage = {.input = 3},
                            .estimated = agent::Usage{.input = 3, .output = 1}});
    return agent::Result<agent::Reply>(agent::fail(code, "it broke"));
  };
}

// Changes the prompt and the answer, and has a model judge that costs something.
class RewritingGuardrail final : public agent::Interceptor {
 public:
  agent::HookDecision judge(const agent::HookContext& context,
                            const agent::Emit& emit,
                            std::stop_token) override {
    agent::GuardrailRan ran{.point = context.point, .guardrail = "rewrites", .action = "redact"};
    if (context.point == agent::HookPoint::run_start || context.point == agent::HookPoint::stop) {
      ran.text = "[" + std::string(context.text) + "]";
      ran.judge = agent::ModelUse{.model = "judge/1", .turns = 1, .usage = {.input = 7}};
      emit(ran);
    }
    return {};
  }
};

struct FoldedRun {
  const char* name;
  std::deque<ScriptedProvider::Answer> script;
  agent::RunPlan plan = {};
  tests::FakeToolbox::Run tool = [](const agent::ToolCall& call) {
    return agent::ToolResult{.content = "result of " + call.id, .duration_ms = 3};
  };
  bool is_guarded = false;
};

const agent::ToolCall k_call{.id = "1", .name = "x", .arguments = R"({"k":1.50})"};

std::vector<FoldedRun> runs() {
  using enum agent::StopReason;
  std::vector<FoldedRun> all;
  agent::Reply unmeasured = reply_of("looking", {k_call}, tool_use);
  unmeasured.estimated = agent::Usage{.input = 12, .output = 6};
  all.push_back({"an answer, and estimates", {gives(unmeasured), gives(reply_of("done"))}});
  all.push_back({"calls, a cut answer, an empty one",
                 {gives(reply_of("looking", {k_call, {"2", "y", "{broken"}}, tool_use)),
                  gives(reply_of("half", {}, max_tokens)),
                  gives(reply_of(" of it")),
                  gives(reply_of(""))}});
  FoldedRun loop{"a loop", {}};
  loop.tool = [](const agent::ToolCall&) { return agent::ToolResult{.content = "the same"}; };
  for (int turn = 0; turn < 5; ++turn) {
    loop.script.push_back(gives(reply_of("again", {k_call}, tool_use)));
  }
  all.push_back(std::move(loop));
  all.push_back(
      {"another model, after attempts that broke",
       {gives(reply_of("on", {k_call}, tool_use),
              {agent::ModelDelta{.text = "o"},
               agent::ModelBroken{.usage = {.input = 4}, .cost = dollars("0.1")},
               agent::ModelReset{.reason = "cut"},
               agent::ModelRetrying{.attempt = 1, .max_attempts = 2},
               agent::ModelFallback{.from = "a/1", .to = "b/2", .error = {.message = "down"}}}),
        breaks(agent::Code::provider_network)}});
  all.push_back({"limits and prices",
                 {gives(reply_of("{}", {k_call}, tool_use)), gives(reply_of("{}"))},
                 {.limits = {.max_turns = 5,
                             .max_tool_calls = 9,
                             .max_total_tokens = 9000,
                             .max_cost_usd = dollars("0.04"),
                             .timeout = std::chrono::minutes(2),
                             .max_repeat_calls = std::nullopt},
                  .repeatable_tools = {"poll", "x"},
                  .prices = {{"a/\"1\"",
                              {.input = {.base = dollars("3.75"),
                                         .tiers = {{.start = 200'000, .price = dollars("7.5")}}},
                               .output = {.base = dollars("15")},
                               .cache_read = agent::Rate{.base = dollars("0.000000000001")},
                               .per_thousand_requests = dollars("10")}}},
                  .tool_bytes = 321,
                  .tool_choice = "required",
                  .output_schema = R"({"type":"object"})"}});
  FoldedRun fatal{"a fatal tool", {gives(reply_of("", {k_call, {"2", "y", "{}"}}, tool_use))}};
  fatal.tool = [](const agent::ToolCall&) {
    return agent::ToolResult{.content = "bad",
                             .status = agent::ToolStatus::failed,
                             .code = agent::Code::tool_failed,
                             .message = "exit status 1",
                             .fatal = true,
                             .truncated = true,
                             .full_output = "/tmp/x",
                             .exit_status = 1};
  };
  all.push_back(std::move(fatal));
  FoldedRun guarded{"a guardrail",
                    {gives(reply_of("", {k_call}, tool_use)), gives(reply_of("secret"))}};
  guarded.is_guarded = true;
  all.push_back(std::move(guarded));
  return all;
}

}  // namespace

TEST_CASE("state: it is the fold of what the journal keeps, at every event", "[agent]") {
  for (FoldedRun& run : runs()) {
    INFO(run.name);
    ScriptedProvider provider(run.script);
    tests::FakeToolbox toolbox(run.tool);
    agent::SystemClock clock;  // a clock turned by hand would let the time limit pass at once
    tests::RecordingSink sink;
    std::vector<agent::EventSink*> sinks{&sink};
    RewritingGuardrail guardrail;
    agent::Cancellation cancellation;
    agent::run({.run_id = "r",
                .started = {.agent_name = "test",
                            .model = "a/\"1\"",
                            .instructions = "be brief",
                            .prompt = "hello",
                            .attachments = {{"a.png", "image/png", "iVBORw0K"}},
                            .plan = run.plan}},
               {.provider = provider,
                .toolbox = toolbox,
                .sinks = sinks,
                .clock = clock,
                .interceptor = run.is_guarded ? &guardrail : nullptr},
               cancellation);
    REQUIRE(sink.events.size() > 4);
    for (std::size_t length = 1; length <= sink.events.size(); ++length) {
      const auto lived = std::span(sink.events).first(length);
      INFO("after event " << length << ", " << agent::type_name(lived.back().body));
      const agent::State state = tests::folded(lived);
      const std::vector<agent::Event> kept = tests::kept(lived);
      const agent::State again = tests::folded(kept);
      REQUIRE(tests::text_of(again) == tests::text_of(state));
      REQUIRE(agent::next(again).index() == agent::next(state).index());
    }
  }
}

TEST_CASE("state: a run that is carried on keeps all but its ending", "[agent]") {
  agent::RunStarted begun{.model = "a/1", .prompt = "p"};
  agent::RunStarted resumed{.model = "a/1", .prompt = "and now", .resumes = 3};
  const agent::Reply answer = reply_of("done");
  agent::RunResult ended;
  ended.exit_code = 80;
  std::vector<agent::Event> log = {
      tests::numbered(begun),
      tests::numbered(agent::ModelResponded{.turn = 1, .reply = answer}),
      tests::numbered(agent::RunFinished{.result = ended})};

  SECTION("a new message comes behind the answer") {
    log.push_back(tests::numbered(resumed));
    const agent::State state = tests::folded(log);
    CHECK_FALSE(state.finished);
    REQUIRE(state.conversation.messages.size() == 3);
    CHECK(tests::text_of(state.conversation.messages.back()) == "user: and now (0 files)");
    CHECK(state.usage.input == 10);
    CHECK(std::holds_alternative<agent::AskModel>(agent::next(state)));
  }
  SECTION("a fork has the beginning, and a bill of its own") {
    resumed.forked_from = {.run_id = "other", .turn = 1};
    log.push_back(tests::numbered(resumed));
    const agent::State state = tests::folded(log);
    CHECK(state.conversation.messages.size() == 3);
    CHECK(state.usage.input == 0);
    CHECK(state.cost == agent::Money{});
    CHECK(state.models.empty());
    CHECK(state.turns == 1);
    CHECK(state.ancestors == std::vector<std::string>{"other"});
  }
  SECTION("without one, what the answer means is judged once more") {
    resumed.prompt.clear();
    log.push_back(tests::numbered(resumed));
    const agent::State state = tests::folded(log);
    CHECK(state.conversation.messages.size() == 2);
    REQUIRE(std::holds_alternative<agent::Finish>(agent::next(state)));
    CHECK_FALSE(std::get<agent::Finish>(agent::next(state)).ending.error);
  }
  SECTION("a message waits until every call of the last answer has its result") {
    log = {tests::numbered(begun),
           tests::numbered(agent::ModelResponded{
               .turn = 1, .reply = reply_of("", {k_call}, agent::StopReason::tool_use)}),
           tests::numbered(resumed)};
    agent::State state = tests::folded(log);
    CHECK(state.conversation.messages.size() == 2);
    agent::advance(
        state, agent::ToolFinished{.turn = 1, .result = {.call_id = k_call.id, .content = "r"}});
    REQUIRE(state.conversation.messages.size() == 4);
    CHECK(tests::text_of(state.conversation.messages.back()) == "user: and now (0 files)");
  }
  SECTION("what ended it counts no more, where it had ended") {
    const agent::ToolResult fatal{
        .call_id = k_call.id, .code = agent::Code::tool_failed, .fatal = true};
    log = {tests::numbered(begun),
           tests::numbered(agent::ModelResponded{
               .turn = 1, .reply = reply_of("", {k_call}, agent::StopReason::tool_use)}),
           tests::numbered(agent::ToolFinished{.turn = 1, .result = fatal})};
    resumed.prompt.clear();
    SECTION("it had not") {
      log.push_back(tests::numbered(resumed));
      CHECK(std::holds_alternative<agent::Finish>(agent::next(tests::folded(log))));
    }
    SECTION("it had") {
      log.push_back(tests::numbered(agent::RunFinished{.result = ended}));
      log.push_back(tests::numbered(resumed));
      CHECK(std::holds_alternative<agent::AskModel>(agent::next(tests::folded(log))));
    }
  }
  SECTION("the plan is the last one's") {
    resumed.plan.limits.max_turns = 9;
    log.push_back(tests::numbered(resumed));
    CHECK(tests::folded(log).plan.limits.max_turns == 9);
  }
}

TEST_CASE(
    "state: tools that were added stay, but for those that a later process has from the start",
    "[agent]") {
  agent::RunStarted begun{.model = "a/1", .instructions = "1234", .prompt = "p", .tools = {"x"}};
  begun.plan.tool_bytes = 100;
  agent::State state;
  agent::advance(state, begun);
  const std::int64_t said = state.new_bytes;
  agent::advance(
      state,
      agent::ToolsAdded{.turn = 1,
                        .reason = "found",
                        .tools = {{.name = "b", .bytes = 20}, {.name = "a", .bytes = 7}}});
  agent::advance(
      state,
      agent::ToolsAdded{.turn = 2, .reason = "called", .tools = {{.name = "b", .bytes = 20}}});
  CHECK(state.added_tools ==
        std::vector<agent::AddedTool>{{.name = "b", .bytes = 20}, {.name = "a", .bytes = 7}});
  CHECK(state.fixed_bytes == 4 + 100 + 27);
  CHECK(state.new_bytes == said + 27);

  agent::advance(state, agent::ContextCompacted{.turn = 2, .action = "left_out", .reason = "fill"});
  CHECK(state.added_tools.size() == 2);

  agent::RunStarted resumed = begun;
  resumed.resumes = 3;
  agent::advance(state, resumed);
  CHECK(state.added_tools.size() == 2);
  CHECK(state.fixed_bytes == 4 + 100 + 27);

  resumed.tools = {"b", "x"};
  resumed.plan.tool_bytes = 120;
  agent::advance(state, resumed);
  CHECK(state.added_tools == std::vector<agent::AddedTool>{{.name = "a", .bytes = 7}});
  CHECK(state.fixed_bytes == 4 + 120 + 7);
  agent::advance(
      state,
      agent::ToolsAdded{.turn = 3, .reason = "called", .tools = {{.name = "b", .bytes = 20}}});
  CHECK(state.added_tools.size() == 2);  // a later process may have it no more
}

TEST_CASE("state: what stands before the prompt has been said", "[agent]") {
  agent::State plain;
  agent::advance(plain, agent::RunStarted{.model = "a/1", .prompt = "four"});
  agent::State state;
  agent::advance(
      state,
      agent::RunStarted{
          .model = "a/1",
          .prompt = "four",
          .opening = {
              {.role = "user", .text = "one", .attachments = {{"a.png", "image/png", "iVBORw0K"}}},
              {.role = "assistant", .text = "three"}}});
  const auto& messages = state.conversation.messages;
  REQUIRE(messages.size() == 3);
  const auto& first = std::get<agent::UserMessage>(messages[0]);
  CHECK(first.text == "one");
  CHECK(first.attachments.size() == 1);
  CHECK(std::get<agent::AssistantMessage>(messages[1]).reply->text == "three");
  CHECK(std::get<agent::UserMessage>(messages[2]).text == "four");
  CHECK(state.prompt == 2U);
  CHECK(state.turns == 0);
  CHECK(state.answer == nullptr);
  CHECK(state.new_bytes > plain.new_bytes + 8);  // the picture, too
}

TEST_CASE("state: a call has the same number in each process, and its sub-agent is its own",
          "[agent]") {
  const auto replied = [](agent::State& state, std::int64_t turn, std::vector<std::string> ids) {
    agent::Reply reply{.stop_reason = agent::StopReason::tool_use};
    for (std::string& id : ids) {
      reply.tool_calls.push_back({.id = std::move(id), .name = "x", .arguments = "{}"});
    }
    advance(state, agent::ModelResponded{.turn = turn, .reply = reply});
  };
  const auto began = [](agent::State& state, std::int64_t number, const char* call_id) {
    advance(state,
            agent::MemberStarted{.member = fmt::format("x[{}]", number),
                                 .step = "x",
                                 .item = number,
                                 .run_id = "r",
                                 .call_id = call_id});
  };
  const auto ended = [](agent::State& state, const char* call_id) {
    advance(state, agent::ToolFinished{.result = {.call_id = call_id, .name = "x"}});
  };
  agent::State state;
  advance(state, agent::RunStarted{.model = "m/1", .prompt = "go"});
  replied(state, 1, {"a", "b", "c"});
  CHECK(agent::number_of_call(state, "a") == 1);
  CHECK(agent::number_of_call(state, "c") == 3);
  CHECK(agent::number_of_call(state, "d") == 0);
  began(state, 1, "a");
  began(state, 3, "c");
  ended(state, "c");
  CHECK(agent::number_of_call(state, "a") == 1);
  CHECK(agent::number_of_call(state, "b") == 2);
  ended(state, "a");
  ended(state, "b");

  replied(state, 2, {"b", "a"});  // ids come again
  CHECK(agent::number_of_call(state, "b") == 4);
  CHECK(agent::number_of_call(state, "a") == 5);
  CHECK(agent::sub_agent_of_call(state, "a") == nullptr);
  began(state, 5, "a");
  REQUIRE(agent::sub_agent_of_call(state, "a") != nullptr);
  CHECK(agent::sub_agent_of_call(state, "a")->number == 5);
  CHECK(state.sub_agents.size() == 3);
}

TEST_CASE("state: a sub-agent's bill counts once, however often it is told", "[agent]") {
  const auto ended = [](std::int64_t input, const char* cost, std::int64_t turns) {
    agent::RunResult result{.turns = turns, .run_id = "r"};
    result.models = {
        {.model = "m", .turns = turns, .usage = {.input = input}, .cost = dollars(cost)}};
    return agent::MemberFinished{
        .member = "x[1]", .step = "x", .item = 1, .result = result, .call_id = "c1"};
  };
  agent::State state;
  advance(state,
          agent::MemberStarted{
              .member = "x[1]", .step = "x", .item = 1, .run_id = "r", .call_id = "c1"});
  REQUIRE(agent::member_of_call(state, "c1") != nullptr);
  CHECK(agent::member_of_call(state, "c1")->run_id == "r");
  CHECK(agent::sub_agent_of_call(state, "c1")->member == "x[1]");
  CHECK(agent::member_of_call(state, "c2") == nullptr);
  CHECK(agent::make_result(state, {}).members.empty());

  advance(state, ended(10, "0.1", 1));
  advance(state, ended(30, "0.25", 3));
  CHECK(state.usage.input == 30);
  CHECK(state.cost == dollars("0.25"));
  CHECK(state.turns == 0);  // they are its own
  const agent::RunResult result = agent::make_result(state, {});
  REQUIRE(result.members.size() == 1);
  CHECK(result.members[0].member == "x[1]");
  CHECK(result.members[0].turns == 3);
}

TEST_CASE("state: an unknown cost of a member stays unknown", "[agent]") {
  agent::RunResult result;
  result.models = {{.model = "m", .usage = {.input = 5}, .cost = std::nullopt}};
  agent::State state;
  const agent::MemberFinished ended{.member = "fix", .step = "fix", .item = {}, .result = result};
  advance(state, ended);
  advance(state, ended);
  CHECK(state.usage.input == 5);
  CHECK(state.cost == std::nullopt);
}

TEST_CASE("state: a log from before the plan was in it still folds", "[agent]") {
  agent::Json json = agent::to_json(
      tests::numbered(agent::RunStarted{.model = "a/1", .prompt = "p"}), agent::Detail::kept);
  REQUIRE(json.erase("plan") == 1);
  const auto started = agent::event_from_json(json);
  REQUIRE(started);
  const agent::State state = tests::folded(std::span(&*started, 1));
  CHECK(state.plan.limits.max_repeat_calls == 5);
  CHECK(state.model == "a/1");
}

TEST_CASE("state: the plan is for the journal alone", "[agent]") {
  const agent::Event started = tests::numbered(agent::RunStarted{.prompt = "p"});
  CHECK_FALSE(agent::to_json(started).contains("plan"));
  CHECK_FALSE(agent::dump(started).contains("\"plan\""));
  CHECK(agent::dump(started, agent::Detail::kept) ==
        agent::dump(agent::to_json(started, agent::Detail::kept)));
}
