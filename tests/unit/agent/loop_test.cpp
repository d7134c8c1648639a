#include "agent/loop.h"

#include "agent/step.h"
#include "tests/support/fakes.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <set>
#include <span>
#include <string>
#include <thread>

namespace {

using agent::Code;
using agent::StopReason;
using tests::ScriptedProvider;

agent::Reply text_reply(std::string text, StopReason stop = StopReason::end_turn) {
  return {.text = std::move(text), .stop_reason = stop, .usage = {.input = 10, .output = 5}};
}

agent::Reply call_reply(std::vector<agent::ToolCall> calls, std::string text = "") {
  return {.text = std::move(text),
          .tool_calls = std::move(calls),
          .stop_reason = StopReason::tool_use,
          .usage = {.input = 10, .output = 5}};
}

ScriptedProvider::Answer answers(agent::Reply reply) {
  return [reply = std::move(reply)](const agent::ModelRequest&, const agent::Emit&) {
    return agent::Result<agent::Reply>(reply);
  };
}

agent::ToolResult says(std::string content) {
  return {.content = std::move(content)};
}

// One run over fakes, and all that it left behind.
struct Stage {
  agent::RunRequest request{.run_id = "run-1",
                            .started = {.version = "0",
                                        .agent_name = "test",
                                        .model = "test/model",
                                        .instructions = "be brief",
                                        .prompt = "hello"}};
  tests::FakeClock clock;
  tests::FakeToolbox toolbox{
      [](const agent::ToolCall& call) { return says("result of " + call.id); }};
  tests::RecordingSink sink;
  tests::MemoryJournal journal;
  agent::Cancellation cancellation;
  std::vector<std::vector<agent::Message>> conversations;
  std::vector<std::optional<std::int64_t>> max_output_tokens;

  agent::RunResult run(std::deque<ScriptedProvider::Answer> script) {
    ScriptedProvider provider(std::move(script));
    std::vector<agent::EventSink*> sinks{&sink};
    auto result = agent::run(request,
                             {.provider = provider,
                              .toolbox = toolbox,
                              .sinks = sinks,
                              .journal = &journal,
                              .clock = clock},
                             cancellation);
    conversations = provider.conversations;
    max_output_tokens = provider.max_output_tokens;
    return result;
  }

  long count(std::string_view type) const { return std::ranges::count(sink.types(), type); }
};

const agent::ToolMessage& tool_message(const agent::Message& message) {
  return std::get<agent::ToolMessage>(message);
}

}  // namespace

TEST_CASE("loop: a plain answer is a run of one turn", "[agent]") {
  Stage stage;
  const auto result = stage.run({answers(text_reply("hi"))});

  CHECK(result.exit_code == 0);
  CHECK(result.text == "hi");
  CHECK_FALSE(result.partial);
  CHECK(result.turns == 1);
  CHECK(result.usage == agent::Usage{.input = 10, .output = 5});
  CHECK(stage.sink.types() ==
        std::vector<std::string>{
            "run.started", "turn.started", "model.requested", "model.responded", "run.finished"});
  CHECK(std::ranges::is_sorted(stage.sink.events, {}, &agent::Event::seq));
}

TEST_CASE("loop: the result says who answered last, and who had to take whose place", "[agent]") {
  const auto after_fallbacks = [](std::string origin, Code reason, agent::Reply reply) {
    reply.origin = std::move(origin);
    return [reply = std::move(reply), reason](const agent::ModelRequest&, const agent::Emit& emit) {
      emit(agent::ModelFallback{.from = "a/1", .to = "b/2", .error = {.code = reason}});
      emit(agent::ModelFallback{
          .from = "b/2", .to = "c/3", .skipped = true, .error = {.code = Code::internal}});
      return agent::Result<agent::Reply>(reply);
    };
  };
  Stage stage;
  CHECK(stage.run({answers(text_reply("hi"))}).model == "test/model");
  const auto call = [](std::string id) { return call_reply({{std::move(id), "x", "{}"}}); };
  const auto result =
      Stage().run({after_fallbacks("b/2", Code::provider_quota, call("1")),
                   after_fallbacks("b/2", Code::provider_quota, call("2")),
                   after_fallbacks("c/3", Code::provider_timeout, text_reply("done"))});
  CHECK(result.model == "c/3");
  REQUIRE(result.fallbacks.size() == 2);
  CHECK(result.fallbacks[0].from == "a/1");
  CHECK(result.fallbacks[0].to == "b/2");
  CHECK(result.fallbacks[0].reason == Code::provider_quota);
  CHECK(result.fallbacks[0].count == 2);
  CHECK(result.fallbacks[1].reason == Code::provider_timeout);
  CHECK(result.fallbacks[1].count == 1);
}

TEST_CASE("loop: tool results go back in call order, before the next request", "[agent]") {
  Stage stage;
  const auto result =
      stage.run({answers(call_reply({{"a", "x", "{}"}, {"b", "y", "{}"}}, "looking")),
                 answers(text_reply("done"))});

  CHECK(result.exit_code == 0);
  CHECK(result.tool_calls == 2);
  REQUIRE(stage.conversations.size() == 2);
  const auto& second = stage.conversations[1];
  REQUIRE(second.size() == 4);
  CHECK(std::get<agent::AssistantMessage>(second[1]).reply->text == "looking");
  CHECK(tool_message(second[2]).call_id == "a");
  CHECK(tool_message(second[3]).content == "result of b");
}

TEST_CASE("loop: before each turn the tools are looked at once, and what is new is the model's",
          "[agent]") {
  Stage stage;
  stage.toolbox.infos = {{.name = "m", .description = "M.", .parameters = "{}"}};
  stage.toolbox.news = {{1, {}},
                        {2, {.added = {{.name = "z", .bytes = 40}}, .warnings = {"s: y is gone."}}},
                        {3, {.added = {{.name = "a", .bytes = 4}}, .warnings = {}}}};
  std::vector<std::string> offered;
  const auto notes = [&](agent::Reply reply) -> ScriptedProvider::Answer {
    return [&offered, reply](const agent::ModelRequest& request, const agent::Emit&) {
      std::string names;
      for (const agent::ToolInfo& tool : request.tools) {
        names += tool.name + " ";
      }
      offered.push_back(names);
      return agent::Result<agent::Reply>(reply);
    };
  };
  const auto result = stage.run({notes(call_reply({{"1", "x", "{}"}, {"2", "x", "{}"}})),
                                 notes(call_reply({{"3", "x", "{}"}})),
                                 notes(text_reply("done"))});
  CHECK(result.exit_code == 0);
  CHECK(offered == std::vector<std::string>{"m ", "m z ", "m z a "});
  CHECK(stage.toolbox.looks == 3);
  std::vector<std::string> said;
  for (const agent::Event& event : stage.sink.events) {
    if (const auto* added = std::get_if<agent::ToolsAdded>(&event.body)) {
      said.push_back(std::to_string(added->turn) + added->reason + added->tools.at(0).name);
    } else if (const auto* warning = std::get_if<agent::Warning>(&event.body)) {
      said.push_back(warning->message + warning->kind);
    }
  }
  CHECK(said == std::vector<std::string>{"s: y is gone.mcp_server", "1listedz", "2listeda"});
}

TEST_CASE("loop: tools that were added stand behind the others, in their order, from the next turn",
          "[agent]") {
  Stage stage;
  stage.toolbox.infos = {{.name = "a", .description = "A.", .parameters = "{}"}};
  stage.toolbox.adds = {{"1", {{.name = "z", .bytes = 40}, {.name = "gone", .bytes = 4}}},
                        {"2", {{.name = "m", .bytes = 80}, {.name = "z", .bytes = 40}}}};
  stage.toolbox.gone = "gone";
  std::vector<std::string> offered;
  const auto notes = [&](agent::Reply reply) -> ScriptedProvider::Answer {
    return [&offered, reply](const agent::ModelRequest& request, const agent::Emit&) {
      std::string names;
      for (const agent::ToolInfo& tool : request.tools) {
        names += tool.name + " ";
      }
      offered.push_back(names);
      return agent::Result<agent::Reply>(reply);
    };
  };
  const auto result = stage.run({notes(call_reply({{"1", "x", "{}"}})),
                                 notes(call_reply({{"2", "y", "{}"}})),
                                 notes(call_reply({{"3", "x", "{}"}})),
                                 notes(text_reply("done"))});
  CHECK(result.exit_code == 0);
  CHECK(offered == std::vector<std::string>{"a ", "a z ", "a z m ", "a z m "});
  CHECK(stage.count("tools.added") == 2);
  std::vector<std::int64_t> estimates;
  for (const agent::Event& event : stage.sink.events) {
    if (const auto* asked = std::get_if<agent::ModelRequested>(&event.body)) {
      estimates.push_back(asked->estimated_input);
    }
  }
  REQUIRE(estimates.size() == 4);
  // 15 tokens of the reply before, "result of N" in 3, and what was added.
  CHECK(estimates[1] == 15 + (44 + 11 + 3) / 4);
  CHECK(estimates[2] == 15 + (80 + 11 + 3) / 4);
  CHECK(estimates[3] == 15 + 3);
}

TEST_CASE("loop: max_turns stops before the request that would be one too many", "[agent]") {
  Stage stage;
  stage.request.started.plan.limits.max_turns = 1;

  SECTION("an answer in the last turn is an answer") {
    CHECK(stage.run({answers(text_reply("hi"))}).exit_code == 0);
  }
  SECTION("a tool call in the last turn is run, and then the run stops") {
    const auto result = stage.run({answers(call_reply({{"a", "x", "{}"}}, "so far"))});
    CHECK(result.exit_code == 80);
    CHECK(result.text == "so far");
    CHECK(result.partial);
    REQUIRE(result.stop);
    CHECK(result.stop->reason == "max_turns");
    CHECK(result.stop->used == 1);
    CHECK(result.tool_calls == 1);
  }
}

TEST_CASE("loop: max_tool_calls runs what is left and leaves the rest open", "[agent]") {
  Stage stage;
  stage.request.started.plan.limits.max_tool_calls = 2;
  const auto result =
      stage.run({answers(call_reply({{"a", "x", "{}"}, {"b", "x", "{}"}, {"c", "x", "{}"}}))});

  CHECK(result.exit_code == 83);
  CHECK(result.tool_calls == 2);
  CHECK(stage.count("tool.started") == 2);
  CHECK(stage.count("tool.finished") == 2);
}

TEST_CASE("loop: the token budget is kept before and after a call", "[agent]") {
  Stage stage;

  SECTION("spent: the next request is not made") {
    stage.request.started.plan.limits.max_total_tokens = 15;
    const auto result = stage.run({answers(call_reply({{"a", "x", "{}"}}))});
    CHECK(result.exit_code == 81);
    CHECK(result.usage.total() == 15);
  }
  SECTION("the next request's input alone would cross it") {
    stage.request.started.plan.limits.max_total_tokens = 30;
    const auto result = stage.run({answers(call_reply({{"a", "x", "{}"}}))});
    CHECK(result.exit_code == 81);
    CHECK(stage.conversations.size() == 1);
  }
  SECTION("one token above that, it is asked for what is left") {
    stage.request.started.plan.limits.max_total_tokens =
        34;  // 15 used, 15 + 3 of new text estimated
    const auto result =
        stage.run({answers(call_reply({{"a", "x", "{}"}})), answers(text_reply("ok"))});
    CHECK(result.exit_code == 0);
    CHECK(stage.max_output_tokens.back() == 1);
  }
  SECTION("an answer that crosses it is an answer, over budget") {
    stage.request.started.plan.limits.max_total_tokens = 14;
    const auto result = stage.run({answers(text_reply("hi"))});
    CHECK(result.exit_code == 0);
    CHECK(result.over_budget);
  }
}

TEST_CASE("loop: the cost limit is kept before and after a call", "[agent]") {
  Stage stage;
  agent::RunPlan& plan = stage.request.started.plan;
  agent::Price& price = plan.prices["test/model"];
  price = agent::Price{.input = {.base = *agent::Money::parse("1")},
                       .output = {.base = *agent::Money::parse("2")}};
  const auto picos = [](std::int64_t count) { return agent::Money::from_picos(count); };
  const auto costs = [&](agent::Reply reply, std::int64_t count) {
    reply.cost = picos(count);
    return answers(std::move(reply));
  };
  const agent::Reply call = call_reply({{"a", "x", "{}"}});

  SECTION("spent to the last pico-dollar: the next request is not made") {
    plan.limits.max_cost_usd = picos(50'000'000);
    const auto result = stage.run({costs(call, 50'000'000)});
    CHECK(result.exit_code == 82);
    CHECK(result.stop->limit == "limits.max_cost_usd");
    CHECK(result.stop->used == 0.00005);
    CHECK(result.stop->max == 0.00005);
    CHECK(result.error->message == "$0.00005 of $0.00005 are spent");
    CHECK(result.partial == false);
    CHECK(stage.conversations.size() == 1);
  }
  SECTION("an answer that costs all of it is an answer, not over budget") {
    plan.limits.max_cost_usd = picos(50'000'000);
    const auto result = stage.run({costs(text_reply("hi"), 50'000'000)});
    CHECK(result.exit_code == 0);
    CHECK_FALSE(result.over_budget);
  }
  SECTION("one pico-dollar more is over budget") {
    plan.limits.max_cost_usd = picos(50'000'000);
    const auto result = stage.run({costs(text_reply("hi"), 50'000'001)});
    CHECK(result.exit_code == 0);
    CHECK(result.over_budget);
  }
  // The second request is estimated at 15 + 3 tokens: 18 micro-dollars.
  SECTION("the next request's input alone takes all that is left") {
    plan.limits.max_cost_usd = picos(20'000'000 + 18'000'000 + 1'999'999);
    const auto result = stage.run({costs(call, 20'000'000)});
    CHECK(result.exit_code == 82);
    CHECK(result.error->message ==
          "$0.00002 of $0.00004 are spent, and the next request alone costs about $0.000018");
    CHECK(stage.conversations.size() == 1);
  }
  SECTION("one pico-dollar above that, it is asked for the one token that it buys") {
    plan.limits.max_cost_usd = picos(20'000'000 + 18'000'000 + 2'000'000);
    const auto result = stage.run({costs(call, 20'000'000), costs(text_reply("ok"), 20'000'000)});
    CHECK(result.exit_code == 0);
    CHECK(stage.max_output_tokens.back() == 1);
  }
  SECTION("where answers cost nothing, input to the last pico-dollar is asked for") {
    price.output.base = picos(0);
    plan.limits.max_cost_usd = picos(20'000'000 + 18'000'000);
    CHECK(stage.run({costs(call, 20'000'000), costs(text_reply("ok"), 0)}).exit_code == 0);
    CHECK_FALSE(stage.max_output_tokens.back());
    plan.limits.max_cost_usd = picos(20'000'000 + 18'000'000 - 1);
    CHECK(stage.run({costs(call, 20'000'000)}).exit_code == 82);
  }
  SECTION("the lower one of the two budgets lowers the request") {
    plan.limits.max_cost_usd = *agent::Money::parse("1");
    plan.limits.max_total_tokens = 100;
    stage.run({costs(text_reply("ok"), 1)});
    CHECK(stage.max_output_tokens.back() < 100);
    plan.limits.max_total_tokens = 1'000'000'000;
    stage.run({costs(text_reply("ok"), 1)});
    CHECK(stage.max_output_tokens.back() > 100'000);
    CHECK(stage.max_output_tokens.back() < 500'000);
  }
  SECTION("at four fifths of it there is a warning, once") {
    plan.limits.max_cost_usd = *agent::Money::parse("1");
    stage.run({costs(call, 799'999'999'999),
               costs(call_reply({{"b", "y", "{}"}}), 1),
               costs(call_reply({{"c", "z", "{}"}}), 1),
               costs(text_reply("ok"), 1)});
    CHECK(stage.count("limit.warning") == 1);
    const auto types = stage.sink.types();
    const auto warning = std::ranges::find(types, "limit.warning");
    CHECK(std::count(types.begin(), warning, "model.responded") == 2);
  }
  SECTION("an answer of unknown cost ends the run: the limit cannot be kept") {
    plan.limits.max_cost_usd = *agent::Money::parse("1");
    const auto result = stage.run({answers(call)});
    CHECK(result.exit_code == 82);
    CHECK_FALSE(result.cost);
    CHECK_FALSE(result.models.front().cost);
  }
}

TEST_CASE("loop: the cost limit counts for whichever model of a chain is asked", "[agent]") {
  const auto usd = [](const char* text) { return *agent::Money::parse(text); };
  Stage stage;
  agent::RunPlan& plan = stage.request.started.plan;
  plan.limits.max_cost_usd = usd("1");
  plan.prices["b/2"] = {.input = {.base = usd("1")}, .output = {.base = usd("1")}};
  bool was_stopped = false;
  const auto falls_back = [&](const agent::ModelRequest&, const agent::Emit& emit) {
    emit(agent::ModelFallback{
        .from = "test/model", .to = "b/2", .error = {.code = Code::provider_unavailable}});
    emit(agent::ModelFallback{
        .from = "b/2", .to = "test/model", .error = {.code = Code::provider_circuit_open}});
    was_stopped = true;
    return agent::Result<agent::Reply>(agent::fail(Code::run_cancelled, "stopped"));
  };
  const auto answered_by = [&](std::string model, agent::Reply reply) {
    reply.origin = std::move(model);
    reply.cost = usd("0.1");
    return answers(std::move(reply));
  };
  const agent::Reply call = call_reply({{"a", "x", "{}"}});

  SECTION("a fallback that is too dear is not asked, and nobody behind it") {
    plan.prices["test/model"] = {};
    plan.prices["b/2"].input.base = usd("1000000");
    const auto result = stage.run({falls_back});
    CHECK(was_stopped);
    CHECK(result.exit_code == 82);
    CHECK(result.stop->limit == "limits.max_cost_usd");
    CHECK(result.error->message ==
          "$0.00 of $1.00 are spent, and the next request alone costs about $4.00");
    CHECK(stage.count("turn.started") == 1);
  }
  SECTION("the request asks for no more than the dearest of them may say") {
    plan.prices["test/model"] = {.input = {}, .output = {.base = usd("10000")}};
    stage.run({answered_by("test/model", text_reply("ok"))});
    CHECK(stage.max_output_tokens.back() == 100);
  }
  SECTION("those that cost nothing, or are too dear to be asked, do not lower it") {
    plan.prices["test/model"] = {};
    plan.prices["b/2"].output.base = usd("2000000");
    stage.run({answered_by("test/model", text_reply("ok"))});
    CHECK_FALSE(stage.max_output_tokens.back());
  }
  SECTION("what a broken answer cost is no longer there for the next attempt") {
    plan.prices["test/model"] = {.input = {}, .output = {.base = usd("10000")}};
    plan.prices["b/2"] = plan.prices["test/model"];
    std::optional<std::int64_t> before;
    std::optional<std::int64_t> after;
    stage.run({[&](const agent::ModelRequest& request, const agent::Emit& emit) {
      before = request.max_output_tokens;
      emit(agent::ModelBroken{
          .usage = {}, .estimated = agent::Usage{.output = 80}, .cost = usd("0.8")});
      emit(agent::ModelFallback{
          .from = "test/model", .to = "b/2", .error = {.code = Code::provider_stream_broken}});
      after = request.max_output_tokens;
      return agent::Result<agent::Reply>(text_reply("ok"));
    }});
    CHECK(before == 100);
    CHECK(after == 20);
    CHECK(stage.count("limit.warning") == 1);
  }
  SECTION("the next turn asks the first one again, at its own price") {
    agent::Rate& input = plan.prices["test/model"].input;
    input.base = usd("50000");  // the $0.9 that are left pay for 18 tokens
    stage.run({answered_by("b/2", call), answers(text_reply("ok"))});
    CHECK(stage.conversations.size() == 2);
    input.base = usd("50000.1");
    CHECK(stage.run({answered_by("b/2", call)}).exit_code == 82);
    CHECK(stage.conversations.size() == 1);
  }
}

TEST_CASE("loop: cost is a sum that is known only where all of it is", "[agent]") {
  Stage stage;
  agent::Reply call = call_reply({{"a", "x", "{}"}});
  agent::Reply text = text_reply("done");
  call.cost = agent::Money::parse("0.1");

  SECTION("all parts known") {
    text.cost = agent::Money::parse("0.2");
    const auto result = stage.run({answers(call), answers(text)});
    CHECK(result.cost == agent::Money::parse("0.3"));
    CHECK(result.models == std::vector<agent::ModelUse>{{.model = "test/model",
                                                         .turns = 2,
                                                         .usage = {.input = 20, .output = 10},
                                                         .cost = agent::Money::parse("0.3")}});
  }
  SECTION("one part unknown") {
    const auto result = stage.run({answers(call), answers(text)});
    CHECK_FALSE(result.cost);
  }
  SECTION("nothing was asked") {
    stage.cancellation.signal(SIGTERM);
    const auto result = stage.run({});
    CHECK(result.cost == agent::Money{});
    CHECK(result.models.empty());
  }
}

TEST_CASE("loop: an answer that broke off is charged for, whatever came of the next", "[agent]") {
  Stage stage;
  agent::Reply text = text_reply("done");
  text.cost = agent::Money::parse("1");
  const bool is_known = GENERATE(true, false);
  const auto breaks = [&](bool ends) -> ScriptedProvider::Answer {
    return [&text, ends, is_known](const agent::ModelRequest&, const agent::Emit& emit) {
      emit(agent::ModelDelta{.text = "45"});
      emit(agent::ModelBroken{.usage = {.input = 3, .output = 2},
                              .estimated = {},
                              .cost = is_known ? agent::Money::parse("4.02") : std::nullopt});
      return ends ? agent::Result<agent::Reply>(text)
                  : agent::Result<agent::Reply>(agent::fail(Code::provider_stream_broken, "cut"));
    };
  };
  const auto sum = is_known ? agent::Money::parse("5.02") : std::nullopt;
  CHECK(stage.run({breaks(true)}).cost == sum);
  agent::State folded;  // the journal has no deltas
  for (const agent::Event& event : stage.journal.events) {
    agent::advance(folded, event.body);
  }
  CHECK(folded.cost == sum);
  const auto result = stage.run({breaks(false)});
  CHECK(result.exit_code == 75);
  CHECK(result.cost == (is_known ? agent::Money::parse("4.02") : std::nullopt));
  CHECK(result.models.front().cost == result.cost);
}

TEST_CASE("loop: a cut answer is continued once, and its calls never run", "[agent]") {
  Stage stage;
  agent::Reply cut = call_reply({{"a", "x", R"({"path":)"}}, "first ");
  cut.stop_reason = StopReason::max_tokens;

  SECTION("the continuation completes it") {
    const auto result = stage.run({answers(cut), answers(text_reply("second"))});
    CHECK(result.exit_code == 0);
    CHECK(result.text == "first second");
    CHECK(stage.count("tool.started") == 0);
    REQUIRE(stage.conversations[1].size() == 3);
    CHECK(std::get<agent::AssistantMessage>(stage.conversations[1][1]).reply->tool_calls.empty());
  }
  SECTION("cut again, it is exit 85 with what there is") {
    const auto result = stage.run({answers(cut), answers(cut)});
    CHECK(result.exit_code == 85);
    CHECK(result.text == "first first ");
    CHECK(result.partial);
    CHECK(result.usage.total() == 30);
  }
}

TEST_CASE("loop: an empty answer is asked for once more", "[agent]") {
  Stage stage;
  SECTION("then it comes") {
    CHECK(stage.run({answers(text_reply("")), answers(text_reply("ok"))}).exit_code == 0);
  }
  SECTION("or it does not") {
    CHECK(stage.run({answers(text_reply("")), answers(text_reply(""))}).exit_code == 112);
  }
}

TEST_CASE("loop: estimates count, and are told once", "[agent]") {
  const auto guessed = [](agent::Reply reply) {
    reply.usage = {.input = -1};
    reply.estimated = agent::Usage{.input = 600, .output = 20};
    return answers(std::move(reply));
  };
  Stage stage;
  SECTION("in the result, as what they are") {
    const auto result =
        stage.run({guessed(call_reply({{"a", "x", "{}"}})), guessed(text_reply("done"))});
    CHECK(result.exit_code == 0);
    CHECK(result.usage == agent::Usage{.input = 1'200, .output = 40});
    CHECK(result.usage_estimated);
    CHECK(result.models.front().usage_estimated);
    CHECK(stage.count("warning") == 1);
  }
  SECTION("for the limit") {
    stage.request.started.plan.limits.max_total_tokens = 600;
    const auto result = stage.run({guessed(call_reply({{"a", "x", "{}"}}))});
    CHECK(result.exit_code == 81);
    CHECK(result.stop->used == 620);
  }
  SECTION("and nothing is said where nothing is estimated") {
    CHECK_FALSE(stage.run({answers(text_reply("done"))}).usage_estimated);
    CHECK(stage.count("warning") == 0);
  }
}

TEST_CASE("loop: an answer that broke off has used tokens", "[agent]") {
  const bool is_reported = GENERATE(false, true);
  Stage stage;
  stage.request.started.plan.limits.max_total_tokens = 100;
  const agent::Usage used{.input = 20, .output = 200};
  const auto breaks = [&](const agent::ModelRequest&, const agent::Emit& emit) {
    emit(agent::ModelDelta{.text = "some"});
    emit(agent::ModelBroken{.usage = is_reported ? used : agent::Usage{},
                            .estimated = is_reported ? std::nullopt : std::optional(used),
                            .cost = agent::Money::parse("0.1")});
    emit(agent::ModelReset{.reason = "broke off"});
    return agent::Result<agent::Reply>(text_reply("done"));
  };
  const auto result = stage.run({breaks});
  CHECK(result.text == "done");
  CHECK(result.usage_estimated == !is_reported);
  CHECK(result.usage == agent::Usage{.input = 10 + 20, .output = 5 + 200});
  CHECK(result.over_budget);
}

TEST_CASE("loop: what came of a broken attempt is the partial answer until there is another one",
          "[agent]") {
  const bool goes_on = GENERATE(false, true);
  Stage stage;
  const auto result = stage.run({[&](const agent::ModelRequest&, const agent::Emit& emit) {
    emit(agent::ModelDelta{.text = "some"});
    emit(agent::ModelReset{.reason = "broke off"});
    if (goes_on) {
      emit(agent::ModelDelta{.text = "oth"});
      emit(agent::ModelDelta{.text = "er"});
    }
    return agent::Result<agent::Reply>(agent::fail(Code::provider_network, "gone"));
  }});
  CHECK(result.exit_code == 75);
  CHECK(result.partial);
  CHECK(result.text == (goes_on ? "other" : "some"));
}

TEST_CASE("loop: a paused answer is sent back and goes on", "[agent]") {
  Stage stage;
  const auto result =
      stage.run({answers(text_reply("one ", StopReason::pause)), answers(text_reply("two"))});
  CHECK(result.exit_code == 0);
  CHECK(result.text == "one two");
  CHECK(stage.conversations[1].size() == 2);
}

TEST_CASE("loop: stop reasons that are no answer end with their own codes", "[agent]") {
  struct Row {
    StopReason reason;
    int exit_code;
  };
  const auto row = GENERATE(values<Row>({{StopReason::refusal, 95},
                                         {StopReason::content_filter, 95},
                                         {StopReason::guardrail_intervened, 95},
                                         {StopReason::context_window, 84},
                                         {StopReason::error, 75}}));
  Stage stage;
  const auto result = stage.run({answers(text_reply("partly", row.reason))});
  CHECK(result.exit_code == row.exit_code);
  CHECK(result.text == "partly");
}

TEST_CASE("loop: the same call with the same result warns on the third time and stops on the fifth",
          "[agent]") {
  Stage stage;
  stage.toolbox = tests::FakeToolbox([](const agent::ToolCall&) { return says("same"); });
  const auto same = [](int n) {
    return answers(call_reply({{"call" + std::to_string(n), "x", "{}"}}));
  };

  const auto result = stage.run({same(1), same(2), same(3), same(4), same(5), same(6)});

  CHECK(result.exit_code == 86);
  CHECK(result.turns == 5);
  CHECK(tool_message(stage.conversations[2].back()).content == "same");
  CHECK(tool_message(stage.conversations[3].back())
            .content.starts_with("same\n[This is call number 3"));
}

TEST_CASE("loop: two calls in turn that bring nothing new are a loop too", "[agent]") {
  Stage stage;
  stage.toolbox = tests::FakeToolbox([](const agent::ToolCall& call) { return says(call.name); });
  std::deque<ScriptedProvider::Answer> script;
  for (int n = 0; n < 12; ++n) {
    script.push_back(
        answers(call_reply({{"call" + std::to_string(n), n % 2 == 0 ? "ping" : "pong", "{}"}})));
  }
  CHECK(stage.run(std::move(script)).exit_code == 86);
}

TEST_CASE("loop: repeats between which something new happens are no loop", "[agent]") {
  Stage stage;
  stage.toolbox = tests::FakeToolbox([](const agent::ToolCall& call) {
    return says(call.name == "test" ? "failed" : "edit " + call.id);
  });
  std::deque<ScriptedProvider::Answer> script;
  for (int n = 0; n < 20; ++n) {
    script.push_back(
        answers(call_reply({{"call" + std::to_string(n), n % 2 == 0 ? "test" : "edit", "{}"}})));
  }
  script.push_back(answers(text_reply("done")));
  CHECK(stage.run(std::move(script)).exit_code == 0);
}

TEST_CASE("loop: equal calls of one reply run no further than the limit of repeats", "[agent]") {
  const auto equal = [](int count, int first = 0) {
    std::vector<agent::ToolCall> calls;
    for (int n = first; n < first + count; ++n) {
      calls.push_back({"call" + std::to_string(n), "x", "{}"});
    }
    return calls;
  };
  Stage stage;
  stage.toolbox = tests::FakeToolbox([](const agent::ToolCall&) { return says("same"); });
  const auto not_run = [&] {
    return std::ranges::count_if(stage.sink.events, [](const agent::Event& event) {
      const auto* finished = std::get_if<agent::ToolFinished>(&event.body);
      return finished != nullptr && finished->result.status == agent::ToolStatus::not_run;
    });
  };
  SECTION("a thousand: five run, and each has a result") {
    const auto result = stage.run({answers(call_reply(equal(1000)))});
    CHECK(result.exit_code == 86);
    CHECK(result.tool_calls == 5);
    CHECK(stage.count("tool.started") == 5);
    CHECK(stage.count("tool.finished") == 1000);
    CHECK(not_run() == 995);
  }
  SECTION("the same arguments written in other ways are the same call") {
    constexpr std::array k_ways = {
        R"({"a":"x","b":1})", R"({ "b": 1, "a": "x" })", R"({"a":"\u0078","b":1})"};
    std::vector<agent::ToolCall> calls;
    for (std::size_t n = 0; n < 30; ++n) {
      calls.push_back({"call" + std::to_string(n), "x", k_ways[n % k_ways.size()]});
    }
    CHECK(stage.run({answers(call_reply(calls))}).exit_code == 86);
    CHECK(stage.count("tool.started") == 5);
  }
  SECTION("at the limit the run stops, one below it does not") {
    CHECK(stage.run({answers(call_reply(equal(5)))}).exit_code == 86);
    Stage other;
    other.toolbox = stage.toolbox;
    CHECK(other.run({answers(call_reply(equal(4))), answers(text_reply("done"))}).exit_code == 0);
    CHECK(tool_message(other.conversations[1][4])
              .content.starts_with("same\n[This is call number 3"));
    CHECK(tool_message(other.conversations[1][5]).content == "same");
  }
  SECTION("what earlier replies have repeated counts") {
    const auto result =
        stage.run({answers(call_reply(equal(3))), answers(call_reply(equal(900, 3)))});
    CHECK(result.exit_code == 86);
    CHECK(result.tool_calls == 5);
  }
  SECTION("other calls between them run as before") {
    auto calls = equal(4);
    calls.push_back({"other", "y", "{}"});
    CHECK(
        stage.run({answers(call_reply(std::move(calls))), answers(text_reply("done"))}).exit_code ==
        0);
    CHECK(stage.count("tool.started") == 5);
  }
  SECTION("calls that bring something new each time all run") {
    stage.toolbox = tests::FakeToolbox([](const agent::ToolCall& call) { return says(call.id); });
    const auto result = stage.run({answers(call_reply(equal(1000))), answers(text_reply("done"))});
    CHECK(result.exit_code == 0);
    CHECK(result.tool_calls == 1000);
    REQUIRE(stage.conversations[1].size() == 1002);
    CHECK(tool_message(stage.conversations[1][1001]).content == "call999");
  }
  SECTION("so do those of a repeatable tool, and all without the limit") {
    stage.request.started.plan.repeatable_tools = {"x"};
    CHECK(stage.run({answers(call_reply(equal(100))), answers(text_reply("done"))}).exit_code == 0);
    Stage unlimited;
    unlimited.request.started.plan.limits.max_repeat_calls = std::nullopt;
    unlimited.toolbox = stage.toolbox;
    CHECK(
        unlimited.run({answers(call_reply(equal(100))), answers(text_reply("done"))}).tool_calls ==
        100);
  }
}

TEST_CASE("loop: a repeatable tool may poll", "[agent]") {
  Stage stage;
  stage.request.started.plan.repeatable_tools = {"x"};
  stage.toolbox = tests::FakeToolbox([](const agent::ToolCall&) { return says("waiting"); });
  std::deque<ScriptedProvider::Answer> script;
  for (int n = 0; n < 9; ++n) {
    script.push_back(answers(call_reply({{"call" + std::to_string(n), "x", "{}"}})));
  }
  script.push_back(answers(text_reply("done")));
  CHECK(stage.run(std::move(script)).exit_code == 0);
}

TEST_CASE("loop: the agent's own verdict and a fatal tool end the run", "[agent]") {
  Stage stage;
  SECTION("task_failed is exit 1, its reason the answer") {
    stage.toolbox = tests::FakeToolbox([](const agent::ToolCall&) {
      return agent::ToolResult{.message = "the tests do not pass", .task_failed = true};
    });
    const auto result = stage.run({answers(call_reply({{"a", "task_failed", "{}"}}))});
    CHECK(result.exit_code == 1);
    CHECK(result.text == "the tests do not pass");
    CHECK_FALSE(result.partial);
  }
  SECTION("on_error: fatal is exit 110") {
    stage.toolbox = tests::FakeToolbox([](const agent::ToolCall&) {
      return agent::ToolResult{.status = agent::ToolStatus::failed,
                               .code = Code::tool_failed,
                               .message = "exit status 3",
                               .fatal = true};
    });
    const auto result = stage.run({answers(call_reply({{"a", "deploy", "{}"}}))});
    CHECK(result.exit_code == 110);
    CHECK(result.error->code == Code::tool_failed);
  }
}

TEST_CASE("loop: a provider's failure keeps usage and the partial answer", "[agent]") {
  Stage stage;
  const auto result = stage.run(
      {answers(call_reply({{"a", "x", "{}"}}, "step one")),
       [](const agent::ModelRequest&, const agent::Emit& emit) -> agent::Result<agent::Reply> {
         emit(agent::ModelDelta{.text = "step tw"});
         emit(agent::ModelBroken{.usage = {}, .estimated = agent::Usage{.input = 18, .output = 2}});
         return agent::fail(Code::provider_stream_broken, "cut");
       }});
  CHECK(result.exit_code == 75);
  CHECK(result.text == "step tw");
  CHECK(result.partial);
  // One reply that was counted, and the estimate of the one that broke off.
  CHECK(result.usage == agent::Usage{.input = 10 + 18, .output = 5 + 2});
  CHECK(result.usage_estimated);
  CHECK(result.error->code == Code::provider_stream_broken);
}

TEST_CASE("loop: a signal wins over everything else", "[agent]") {
  Stage stage;
  const auto result = stage.run(
      {[&](const agent::ModelRequest&, const agent::Emit&) -> agent::Result<agent::Reply> {
        stage.cancellation.signal(SIGTERM);
        return agent::fail(Code::run_cancelled, "stopped");
      }});
  CHECK(result.exit_code == 143);
  CHECK(agent::status_of(result.exit_code) == agent::Status::cancelled);
}

TEST_CASE("loop: the deadline ends a run as 124, with the limit named", "[agent]") {
  Stage stage;
  stage.request.started.plan.limits.timeout = std::chrono::minutes(5);
  const auto result = stage.run(
      {[&](const agent::ModelRequest&, const agent::Emit&) -> agent::Result<agent::Reply> {
        stage.cancellation.expire();
        return agent::fail(Code::run_cancelled, "stopped");
      }});
  CHECK(result.exit_code == 124);
  REQUIRE(result.stop);
  CHECK(result.stop->limit == "limits.timeout");
  CHECK(result.stop->max == 300);
}

TEST_CASE("loop: a journal that fails ends the run with 74 and starts no more effects", "[agent]") {
  Stage stage;
  stage.journal.capacity = 4;  // up to and with model.responded
  int runs = 0;
  stage.toolbox = tests::FakeToolbox([&](const agent::ToolCall&) {
    ++runs;
    return says("x");
  });
  const auto result = stage.run({answers(call_reply({{"a", "x", "{}"}}))});
  CHECK(result.exit_code == 74);
  CHECK(runs == 0);
  CHECK(stage.count("tool.finished") == 1);
}

TEST_CASE("loop: an intent is in the journal before the effect", "[agent]") {
  Stage stage;
  std::string last_type;
  std::string asked_after;
  stage.toolbox = tests::FakeToolbox([&](const agent::ToolCall&) {
    last_type = agent::type_name(stage.journal.events.back().body);
    return says("x");
  });
  stage.run({answers(call_reply({{"a", "x", "{}"}})),
             [&](const agent::ModelRequest&, const agent::Emit&) -> agent::Result<agent::Reply> {
               asked_after = agent::type_name(stage.journal.events.back().body);
               return text_reply("done");
             }});
  CHECK(last_type == "tool.started");
  CHECK(asked_after == "model.requested");
}

TEST_CASE("loop: the journal alone folds back into the state", "[agent]") {
  Stage stage;
  stage.request.started.plan.limits.max_turns = 10;
  stage.run({answers(call_reply({{"a", "x", "{}"}, {"b", "y", R"({"k":1})"}}, "looking")),
             answers(text_reply("cut here", StopReason::max_tokens)),
             answers(text_reply(" done"))});

  agent::State folded;
  for (const agent::Event& event : stage.journal.events) {
    const auto read = agent::event_from_json(agent::to_json(event));
    REQUIRE(read);
    agent::advance(folded, read->body);
  }
  REQUIRE(folded.finished);
  CHECK(folded.finished->exit_code == 0);
  CHECK(*folded.answer == "cut here done");
  CHECK(folded.turns == 3);
  CHECK(folded.tool_calls == 2);
  CHECK(folded.usage.total() == 45);
  REQUIRE(folded.conversation.messages.size() == 7);
  CHECK(tool_message(folded.conversation.messages[2]).content == "result of a");
}

TEST_CASE("loop: one step at a time from the log makes the same run", "[agent]") {
  Stage stage;
  stage.run({answers(call_reply({{"a", "x", "{}"}})), answers(text_reply("done"))});

  for (std::size_t length = 1; length < stage.journal.events.size(); ++length) {
    agent::State state;
    for (std::size_t at = 0; at < length; ++at) {
      agent::advance(state, stage.journal.events[at].body);
    }
    const auto following = agent::type_name(stage.journal.events[length].body);
    const agent::Step step = agent::next(state);
    INFO("after " << length << " events, before " << following);
    if (following == "turn.started") {
      CHECK(std::holds_alternative<agent::AskModel>(step));
    } else if (following == "tool.started") {
      CHECK(std::holds_alternative<agent::RunTools>(step));
    } else if (following == "run.finished") {
      CHECK(std::holds_alternative<agent::Finish>(step));
    }
  }
}

TEST_CASE("loop: four fifths of a limit are worth a warning, once", "[agent]") {
  Stage stage;
  stage.request.started.plan.limits.max_turns = 5;
  std::deque<ScriptedProvider::Answer> script;
  for (int n = 0; n < 5; ++n) {
    script.push_back(answers(call_reply({{"call" + std::to_string(n), "x", "{}"}})));
  }
  CHECK(stage.run(std::move(script)).exit_code == 80);
  CHECK(stage.count("limit.warning") == 1);
}

TEST_CASE("loop: a product that cannot be written is the ending that everybody else hears of",
          "[agent]") {
  struct Broken final : agent::EventSink {
    void on(const agent::Event& event) override {
      if (std::holds_alternative<agent::RunFinished>(event.body)) {
        error = agent::Error{.code = Code::storage_io, .message = "disk full", .help = {}};
      }
    }
    const agent::Error* failure() const override { return error ? &*error : nullptr; }
    std::optional<agent::Error> error;
  };
  Stage stage;
  Broken product;
  ScriptedProvider provider({answers(text_reply("hi"))});
  const std::vector<agent::EventSink*> sinks{&product, &stage.sink};
  const auto result = agent::run(stage.request,
                                 {.provider = provider,
                                  .toolbox = stage.toolbox,
                                  .sinks = sinks,
                                  .journal = &stage.journal,
                                  .clock = stage.clock},
                                 stage.cancellation);
  CHECK(result.exit_code == 74);
  CHECK(std::get<agent::RunFinished>(stage.sink.events.back().body).result.exit_code == 74);
  CHECK(std::get<agent::RunFinished>(stage.journal.events.back().body).result.exit_code == 74);
}

TEST_CASE("loop: no run ends well with what git or errand would obey", "[agent]") {
  Stage stage;
  SECTION("that could not be taken away") {
    stage.toolbox.left = {
        {.sentence = "`x/.git` could not be put back", .ends_as = agent::Code::sandbox_violation}};
    const auto result = stage.run({answers(text_reply("Done."))});
    CHECK(result.exit_code == 93);
    CHECK(result.error->message == "`x/.git` could not be put back");
    CHECK(result.text == "Done.");
    CHECK(result.partial);
    CHECK(stage.count("warning") == 1);
  }
  SECTION("whatever else nobody could look at before it") {
    stage.toolbox.left = {
        {.sentence = "`y` cannot be looked at", .ends_as = agent::Code::os_failed},
        {.sentence = "`x/.git` could not be put back", .ends_as = agent::Code::sandbox_violation}};
    const auto result = stage.run({answers(text_reply("Done."))});
    CHECK(result.exit_code == 93);
    CHECK(result.error->message == "`x/.git` could not be put back");
    CHECK(stage.count("warning") == 2);
  }
  SECTION("nor where nobody could look whether there is something like that") {
    stage.toolbox.left = {
        {.sentence = "`z` is there"},
        {.sentence = "`y` cannot be looked at", .ends_as = agent::Code::os_failed}};
    const auto result = stage.run({answers(text_reply("Done."))});
    CHECK(result.exit_code == 71);
    CHECK(result.error->message == "`y` cannot be looked at");
  }
  SECTION("where it was renamed, that is said, and all is well") {
    stage.toolbox.left = {{.sentence = "`x/.git` is called `.git.untrusted` now"}};
    CHECK(stage.run({answers(text_reply("Done."))}).exit_code == 0);
    CHECK(stage.count("warning") == 1);
  }
  SECTION("where the run has another ending, that stands") {
    stage.request.started.plan.limits.max_turns = 1;
    stage.toolbox.left = {
        {.sentence = "`x/.git` could not be put back", .ends_as = agent::Code::sandbox_violation}};
    CHECK(stage.run({answers(call_reply({{"a", "x", "{}"}}))}).exit_code == 80);
  }
}

TEST_CASE("loop: what ends any run is not called declared", "[agent]") {
  const auto [code, exit_code] = GENERATE(table<agent::Code, int>(
      {{agent::Code::sandbox_violation, 93}, {agent::Code::os_failed, 71}}));
  Stage stage;
  stage.toolbox = tests::FakeToolbox([code = code](const agent::ToolCall&) {
    return agent::ToolResult{.status = agent::ToolStatus::failed,
                             .code = code,
                             .message = "`.git` could not be put back",
                             .fatal = true};
  });
  const auto result = stage.run({answers(call_reply({{"a", "x", "{}"}}))});
  CHECK(result.exit_code == exit_code);
  CHECK(result.error->message == "the tool `x` ended the run: `.git` could not be put back");
}

TEST_CASE("loop: wherever its log ends, a run is carried on to the same end", "[agent]") {
  const std::vector<agent::Reply> script = {
      call_reply({{"a", "x", "{}"}, {"b", "y", "{}"}}, "first"),
      call_reply({{"c", "x", "{}"}}),
      text_reply("the end")};
  const auto from = [&](std::size_t answered) {
    std::deque<ScriptedProvider::Answer> rest;
    for (const agent::Reply& reply : std::span(script).subspan(answered)) {
      rest.push_back(answers(reply));
    }
    return rest;
  };
  Stage whole;
  const auto expected = whole.run(from(0));
  REQUIRE(expected.exit_code == 0);
  const std::vector<agent::Event>& log = whole.journal.events;
  REQUIRE(log.size() > 12);
  const bool may_run_again = GENERATE(false, true);

  for (std::size_t length = 1; length < log.size(); ++length) {
    const auto kept = std::span(log).first(length);
    INFO("after " << length << " events, " << agent::type_name(kept.back().body));
    Stage stage;
    std::size_t answered = 0;
    std::set<std::string> open;      // started, and no result
    std::set<std::string> finished;  // calls that are not to run again
    for (const agent::Event& event : kept) {
      agent::advance(stage.request.past.state, event.body);
      answered += std::holds_alternative<agent::ModelResponded>(event.body) ? 1 : 0;
      if (const auto* started = std::get_if<agent::ToolStarted>(&event.body)) {
        open.insert(started->call_id);
      } else if (const auto* done = std::get_if<agent::ToolFinished>(&event.body)) {
        open.erase(done->result.call_id);
        finished.insert(done->result.call_id);
      }
    }
    stage.request.past.seq = kept.back().seq;
    stage.request.started.resumes = kept.back().seq;
    stage.request.started.prompt.clear();
    std::set<std::string> ran;
    stage.toolbox = tests::FakeToolbox([&](const agent::ToolCall& call) {
      CHECK(ran.insert(call.id).second);
      return says("result of " + call.id);
    });
    stage.toolbox.infos = {{.name = "x", .idempotent = may_run_again},
                           {.name = "y", .idempotent = may_run_again}};
    const auto result = stage.run(from(answered));

    CHECK(result.exit_code == 0);
    CHECK(result.text == expected.text);
    CHECK(result.turns == expected.turns);
    CHECK(result.usage == expected.usage);
    CHECK(result.tool_calls == expected.tool_calls);
    REQUIRE_FALSE(stage.journal.events.empty());
    CHECK(stage.journal.events.front().seq == kept.back().seq + 1);
    for (const agent::ToolCall& call :
         {script[0].tool_calls[0], script[0].tool_calls[1], script[1].tool_calls[0]}) {
      INFO("call " << call.id);
      const bool is_cut_off = open.contains(call.id) && !may_run_again;
      CHECK(ran.contains(call.id) == (!finished.contains(call.id) && !is_cut_off));
      const auto told = std::ranges::count_if(stage.journal.events, [&](const agent::Event& event) {
        const auto* done = std::get_if<agent::ToolFinished>(&event.body);
        return done != nullptr && done->result.call_id == call.id &&
               done->result.code == Code::tool_interrupted &&
               done->result.content.contains("tool.interrupted");
      });
      CHECK(told == (is_cut_off ? 1 : 0));
    }
  }
}

TEST_CASE("loop: of calls side by side, each gets one result, whichever was cut off", "[agent]") {
  const std::string cut_off = GENERATE("a", "b", "c");
  Stage stage;
  agent::State& state = stage.request.past.state;
  agent::advance(state, agent::RunStarted{.model = "test/model", .prompt = "hello"});
  agent::advance(
      state,
      agent::ModelResponded{
          .turn = 1, .reply = call_reply({{"a", "x", "{}"}, {"b", "x", "{}"}, {"c", "x", "{}"}})});
  for (const std::string id : {"a", "b", "c"}) {
    agent::advance(state, agent::ToolStarted{.turn = 1, .call_id = id, .name = "x"});
  }
  for (const std::string id : {"a", "b", "c"}) {
    if (id != cut_off) {
      agent::advance(
          state,
          agent::ToolFinished{
              .turn = 1, .result = {.call_id = id, .name = "x", .content = "result of " + id}});
    }
  }
  stage.request.past.seq = 7;
  stage.request.started.resumes = 7;
  stage.request.started.prompt.clear();
  const auto result = stage.run({answers(text_reply("done"))});
  CHECK(result.exit_code == 0);
  CHECK(result.tool_calls == 3);
  CHECK(stage.count("tool.finished") == 1);
  const auto& said = stage.conversations.at(0);
  REQUIRE(said.size() == 5);
  for (std::size_t at = 2; at < 5; ++at) {
    const agent::ToolMessage& message = tool_message(said[at]);
    CHECK(message.content.contains("tool.interrupted") == (message.call_id == cut_off));
  }
}

TEST_CASE("loop: a call whose arguments the journal has not whole does not run", "[agent]") {
  const bool has_begun = GENERATE(false, true);
  Stage stage;
  agent::State& state = stage.request.past.state;
  agent::advance(state, agent::RunStarted{.model = "test/model", .prompt = "hello"});
  agent::advance(state,
                 agent::ModelResponded{.turn = 1,
                                       .reply = call_reply({{"a", "x", R"({"key":"[redacted]"})"},
                                                            {"b", "x", "{}"}})});
  if (has_begun) {
    agent::advance(state, agent::ToolStarted{.turn = 1, .call_id = "a", .name = "x"});
  }
  stage.request.past.seq = 3;
  stage.request.started.resumes = 3;
  stage.request.started.prompt.clear();
  std::vector<std::string> ran;
  stage.toolbox = tests::FakeToolbox([&](const agent::ToolCall& call) {
    ran.push_back(call.id);
    return says("x");
  });
  stage.toolbox.infos = {{.name = "x", .idempotent = true}};
  const auto result = stage.run({answers(text_reply("done"))});
  CHECK(result.exit_code == 0);
  CHECK(ran == std::vector<std::string>{"b"});
  CHECK(tool_message(stage.conversations.at(0).at(2))
            .content.contains(has_begun ? "tool.interrupted" : "make it again"));
}

TEST_CASE("loop: a message to a run that was cut off leaves its calls out", "[agent]") {
  Stage stage;
  agent::State& state = stage.request.past.state;
  agent::advance(state, agent::RunStarted{.model = "test/model", .prompt = "hello"});
  agent::advance(
      state,
      agent::ModelResponded{.turn = 1, .reply = call_reply({{"a", "x", "{}"}, {"b", "y", "{}"}})});
  agent::advance(state, agent::ToolStarted{.turn = 1, .call_id = "a", .name = "x"});
  stage.request.past.seq = 3;
  stage.request.started.resumes = 3;
  stage.request.started.prompt = "no, something else";
  int runs = 0;
  stage.toolbox = tests::FakeToolbox([&](const agent::ToolCall&) {
    ++runs;
    return says("x");
  });
  const auto result = stage.run({answers(text_reply("as you like"))});
  CHECK(result.exit_code == 0);
  CHECK(runs == 0);
  REQUIRE(stage.conversations.size() == 1);
  REQUIRE(stage.conversations[0].size() == 5);
  CHECK(tool_message(stage.conversations[0][2]).content.contains("tool.interrupted"));
  CHECK(tool_message(stage.conversations[0][3]).content.contains("not run: the user said"));
  CHECK(std::get<agent::UserMessage>(stage.conversations[0][4]).text == "no, something else");
}

TEST_CASE("loop: the time limit counts what earlier processes have spent", "[agent]") {
  Stage stage;
  agent::advance(stage.request.past.state,
                 agent::RunStarted{.model = "test/model", .prompt = "hello"});
  stage.request.past.seq = 1;
  stage.request.started.resumes = 1;
  stage.request.started.worked_ms = 300'000;
  stage.request.started.plan.limits.timeout = std::chrono::minutes(5);
  const auto result = stage.run({[&](const agent::ModelRequest&, const agent::Emit&) {
    // The deadline is over before anything begins; however fast this is asked, it ends the run.
    while (!stage.cancellation.is_expired()) {
      std::this_thread::yield();
    }
    return agent::Result<agent::Reply>(text_reply("too late"));
  }});
  CHECK(result.exit_code == 124);
  CHECK(result.duration_ms >= 300'000);
}
