#include "agent/step.h"

#include "tests/support/folded.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

using agent::Code;
using agent::EventBody;
using agent::RunPlan;
using agent::ToolStatus;
using Stop = agent::StopReason;

agent::Money money_of(const char* text) {
  return *agent::Money::parse(text);
}

EventBody began(RunPlan plan = {}) {
  return agent::RunStarted{
      .model = "a/1", .instructions = "be brief", .prompt = "hi", .plan = std::move(plan)};
}

EventBody resumed(std::string prompt = {}) {
  return agent::RunStarted{.model = "a/1", .prompt = std::move(prompt), .resumes = 1};
}

// Ten tokens in, five out.
EventBody replied(std::int64_t turn, std::string text, Stop reason = Stop::end_turn) {
  return agent::ModelResponded{.turn = turn,
                               .reply = agent::Reply{.text = std::move(text),
                                                     .stop_reason = reason,
                                                     .usage = {.input = 10, .output = 5},
                                                     .cost = money_of("0.01")}};
}

// Calls of the tool `x`, each with arguments of its own.
EventBody called(std::int64_t turn, const std::vector<std::string>& ids) {
  agent::Reply reply{
      .stop_reason = Stop::tool_use, .usage = {.input = 10, .output = 5}, .cost = money_of("0.01")};
  for (const std::string& id : ids) {
    reply.tool_calls.push_back(
        {.id = id, .name = "x", .arguments = fmt::format(R"({{"n":"{}"}})", id)});
  }
  return agent::ModelResponded{.turn = turn, .reply = std::move(reply)};
}

EventBody done(std::string id) {
  return agent::ToolFinished{.turn = 1,
                             .result = {.call_id = id, .name = "x", .content = "of " + id}};
}

EventBody ended(Code code, ToolStatus status = ToolStatus::failed) {
  return agent::ToolFinished{.turn = 1,
                             .result = {.call_id = "1",
                                        .name = "x",
                                        .status = status,
                                        .code = code,
                                        .message = "no",
                                        .help = "allow it",
                                        .fatal = true}};
}

EventBody taking_over(std::string id) {
  return agent::MemberStarted{
      .member = "b[1]", .step = "b", .item = 1, .kind = "handoff", .call_id = std::move(id)};
}

EventBody took_over(std::string id, std::optional<Code> failure = std::nullopt) {
  agent::RunResult result{.text = "it is so"};
  if (failure) {
    result.error = agent::Error{.code = *failure, .message = "no"};
    result.exit_code = agent::exit_code(*result.error);
  }
  return agent::MemberFinished{.member = "b[1]",
                               .step = "b",
                               .item = 1,
                               .result = std::move(result),
                               .call_id = std::move(id)};
}

EventBody said(std::string reason) {
  return agent::UserSaid{.text = "go on", .reason = std::move(reason)};
}

EventBody checked(std::string output, bool passed = false) {
  return agent::CheckRan{.check = "c",
                         .command = "c",
                         .passed = passed,
                         .exit_status = passed ? 0 : 1,
                         .output = std::move(output)};
}

EventBody near(Code limit) {
  return agent::UserSaid{.text = "last turn", .reason = "wrap_up", .limit = limit};
}

struct Described {
  std::string operator()(const agent::AskModel& ask) const {
    return ask.max_output_tokens ? fmt::format("ask for {}", *ask.max_output_tokens) : "ask";
  }
  std::string operator()(const agent::RunTools& run) const {
    std::string text = "run";
    for (const agent::ToolCall& call : run.calls) {
      text += " " + call.id;
    }
    return text;
  }
  std::string operator()(const agent::RefuseTools& refuse) const {
    return fmt::format("refuse {}", refuse.calls.size());
  }
  std::string operator()(const agent::RunCheck& check) const {
    return fmt::format("check {} for the {}. time", check.index, check.attempt);
  }
  std::string operator()(const agent::SendBack& back) const {
    return fmt::format("send back {}", back.failed.size());
  }
  std::string operator()(const agent::Say& say) const { return "say " + say.message.reason; }
  std::string operator()(const agent::Warn& warn) const { return "warn " + warn.warning.limit; }
  std::string operator()(const agent::Compact& compact) const {
    return fmt::format("{} for {}", compact.plan.action, compact.plan.reason);
  }
  std::string operator()(const agent::Finish& finish) const {
    const auto& [error, stop, signal] = finish.ending;
    const std::string setting = stop && !stop->config_path.empty() ? " " + stop->config_path : "";
    return fmt::format("finish {}{}", agent::exit_code(finish.ending), setting);
  }
};

struct NextStep {
  const char* when;
  std::vector<EventBody> events;
  std::string step;
};

RunPlan checking(int attempts) {
  return {.checks = {{.name = "c", .run = "c"}, {.name = "c", .run = "c"}},
          .check_attempts = attempts};
}

RunPlan limited(agent::Limits limits) {
  return {.limits = std::move(limits)};
}

const std::string k_any_object = R"({"type":"object"})";

// The events until now, and what is to be done now.
std::vector<NextStep> rows() {
  std::vector<NextStep> all = {
      {"at the start", {began()}, "ask"},
      {"a hook said something first", {began(), said("hook")}, "ask"},
      {"an answer", {began(), replied(1, "done")}, "finish 0"},
      {"an answer, and a hook sends the model on",
       {began(), replied(1, "done"), said("sent_on")},
       "ask"},

      {"two calls", {began(), called(1, {"1", "2"})}, "run 1 2"},
      {"the first is done", {began(), called(1, {"1", "2"}), done("1")}, "run 2"},
      {"the second is done", {began(), called(1, {"1", "2", "3"}), done("2")}, "run 1"},
      {"both are done", {began(), called(1, {"1", "2"}), done("2"), done("1")}, "ask"},
      {"a call of a cut reply", {began(), replied(1, "so", Stop::max_tokens)}, "say truncated"},

      {"cut twice",
       {began(),
        replied(1, "so", Stop::max_tokens),
        said("truncated"),
        replied(2, "and", Stop::max_tokens)},
       "finish 85"},
      {"cut twice, with a whole one between them",
       {began(),
        replied(1, "so", Stop::max_tokens),
        said("truncated"),
        called(2, {"1"}),
        done("1"),
        replied(3, "and", Stop::max_tokens)},
       "say truncated"},
      {"nothing said", {began(), replied(1, " ")}, "say empty"},
      {"nothing said twice",
       {began(), replied(1, ""), said("empty"), replied(2, "")},
       "finish 112"},
      {"cut, and then nothing",
       {began(), replied(1, "so", Stop::max_tokens), said("truncated"), replied(2, " ")},
       "finish 85"},
      {"cut before a word, and then nothing",
       {began(), replied(1, "", Stop::max_tokens), said("truncated"), replied(2, "")},
       "say empty"},
      {"cut, a malformed call, and then nothing",
       {began(),
        replied(1, "so", Stop::max_tokens),
        said("truncated"),
        replied(2, "", Stop::malformed_tool_call),
        said("malformed_tool_call"),
        replied(3, "")},
       "finish 85"},
      {"cut, a pause, and then the rest",
       {began(),
        replied(1, "so", Stop::max_tokens),
        said("truncated"),
        replied(2, "and", Stop::pause),
        replied(3, "so")},
       "finish 0"},
      {"cut, a limit, and then nothing",
       {began(),
        replied(1, "so", Stop::max_tokens),
        said("truncated"),
        agent::RunFinished{},
        resumed(),
        replied(2, "")},
       "finish 85"},
      {"cut, another prompt, and nothing",
       {began(), replied(1, "so", Stop::max_tokens), resumed("and now?"), replied(2, "")},
       "say empty"},
      {"cut twice, with a malformed call between them",
       {began(),
        replied(1, "so", Stop::max_tokens),
        said("truncated"),
        replied(2, "", Stop::malformed_tool_call),
        said("malformed_tool_call"),
        replied(3, "and", Stop::max_tokens)},
       "finish 85"},
      {"nothing more after a pause",
       {began(), replied(1, "done", Stop::pause), replied(2, "")},
       "finish 0"},
      {"a pause, a malformed call, and then nothing",
       {began(),
        replied(1, "so", Stop::pause),
        replied(2, "", Stop::malformed_tool_call),
        said("malformed_tool_call"),
        replied(3, "")},
       "say empty"},
      {"sent back, a malformed call, cut before a word, and then nothing",
       {began({.output_schema = k_any_object, .repair_attempts = 1}),
        replied(1, "nope"),
        said("output_invalid"),
        replied(2, "", Stop::malformed_tool_call),
        said("malformed_tool_call"),
        replied(3, "", Stop::max_tokens),
        said("truncated"),
        replied(4, "")},
       "finish 111"},
      {"a malformed call",
       {began(), replied(1, "", Stop::malformed_tool_call)},
       "say malformed_tool_call"},
      {"malformed twice",
       {began(),
        replied(1, "", Stop::malformed_tool_call),
        said("malformed_tool_call"),
        replied(2, "", Stop::malformed_tool_call)},
       "finish 76"},
      {"a pause", {began(), replied(1, "wait", Stop::pause)}, "ask"},
      {"a refusal", {began(), replied(1, "no", Stop::refusal)}, "finish 95"},
      {"a filter", {began(), replied(1, "", Stop::content_filter)}, "finish 95"},
      {"a guardrail of the provider",
       {began(), replied(1, "", Stop::guardrail_intervened)},
       "finish 95"},
      {"the window is full", {began(), replied(1, "", Stop::context_window)}, "finish 84"},
      {"the provider's error", {began(), replied(1, "", Stop::error)}, "finish 75"},
      {"an end without a word for it", {began(), replied(1, "done", Stop::unknown)}, "finish 0"},

      {"what the schema wants",
       {began({.output_schema = k_any_object}), replied(1, "{}")},
       "finish 0"},
      {"another JSON", {began({.output_schema = k_any_object}), replied(1, "[]")}, "finish 111"},
      {"no JSON", {began({.output_schema = k_any_object}), replied(1, "done")}, "finish 111"},

      {"no JSON, and it may be corrected",
       {began({.output_schema = k_any_object, .repair_attempts = 1}), replied(1, "done")},
       "say output_invalid"},
      {"it was sent back",
       {began({.output_schema = k_any_object, .repair_attempts = 1}),
        replied(1, "done"),
        said("output_invalid")},
       "ask"},
      {"corrected",
       {began({.output_schema = k_any_object, .repair_attempts = 1}),
        replied(1, "done"),
        said("output_invalid"),
        replied(2, "{}")},
       "finish 0"},
      {"not corrected",
       {began({.output_schema = k_any_object, .repair_attempts = 1}),
        replied(1, "done"),
        said("output_invalid"),
        replied(2, "done")},
       "finish 111"},
      {"a call in place of a correction",
       {began({.output_schema = k_any_object, .repair_attempts = 1}),
        replied(1, "done"),
        said("output_invalid"),
        called(2, {"1", "2"})},
       "refuse 2"},
      {"it was refused",
       {began({.output_schema = k_any_object, .repair_attempts = 2}),
        replied(1, "done"),
        said("output_invalid"),
        called(2, {"1"}),
        done("1")},
       "say output_invalid"},
      {"it was refused, and that was the last correction",
       {began({.output_schema = k_any_object, .repair_attempts = 1}),
        replied(1, "done"),
        said("output_invalid"),
        called(2, {"1"}),
        done("1")},
       "finish 111"},

      {"an answer with checks",
       {began(checking(3)), replied(1, "done")},
       "check 0 for the 1. time"},
      {"the first has failed",
       {began(checking(3)), replied(1, "done"), checked("no")},
       "check 1 for the 1. time"},
      {"both have run",
       {began(checking(3)), replied(1, "done"), checked("no"), checked("", true)},
       "send back 1"},
      {"both have passed",
       {began(checking(3)), replied(1, "done"), checked("", true), checked("", true)},
       "finish 0"},
      {"there was one attempt",
       {began(checking(1)), replied(1, "done"), checked("no"), checked("no")},
       "finish 113"},
      {"it was sent back with what failed",
       {began(checking(3)),
        replied(1, "done"),
        checked("no"),
        checked("no"),
        said("checks_failed")},
       "ask"},
      {"the next answer",
       {began(checking(3)),
        replied(1, "done"),
        checked("no"),
        checked("no"),
        said("checks_failed"),
        replied(2, "now")},
       "check 0 for the 2. time"},
      {"the same has failed again",
       {began(checking(3)),
        replied(1, "done"),
        checked("no"),
        checked("", true),
        said("checks_failed"),
        replied(2, "now"),
        checked("no"),
        checked("", true)},
       "finish 113"},
      {"it has failed in another way",
       {began(checking(3)),
        replied(1, "done"),
        checked("no"),
        checked("", true),
        said("checks_failed"),
        replied(2, "now"),
        checked("else"),
        checked("", true)},
       "send back 1"},
      {"a hook sends on what had passed",
       {began(checking(3)),
        replied(1, "done"),
        checked("", true),
        checked("", true),
        said("sent_on"),
        replied(2, "now")},
       "check 0 for the 1. time"},

      {"one turn of two is kept",
       {began(limited({.max_turns = 2, .wrap_up = true})), called(1, {"1"}), done("1")},
       "say wrap_up"},
      {"of one turn, none is kept",
       {began(limited({.max_turns = 1, .wrap_up = true})), called(1, {"1"}), done("1")},
       "finish 80 limits.max_turns"},
      {"the last turn",
       {began(limited({.max_turns = 2, .wrap_up = true})),
        called(1, {"1"}),
        done("1"),
        near(Code::run_max_turns)},
       "ask"},
      {"the last turn is over",
       {began(limited({.max_turns = 2, .wrap_up = true})),
        called(1, {"1"}),
        done("1"),
        near(Code::run_max_turns),
        replied(2, "so far")},
       "finish 80 limits.max_turns"},
      {"it was a call",
       {began(limited({.max_turns = 2, .wrap_up = true})),
        called(1, {"1"}),
        done("1"),
        near(Code::run_max_turns),
        called(2, {"1"})},
       "finish 80 limits.max_turns"},
      {"a tenth of the tokens is kept",
       {began(limited({.max_total_tokens = 34, .wrap_up = true})), called(1, {"1"}), done("1")},
       "say wrap_up"},
      {"an ordinary turn leaves it",
       {began(limited({.max_total_tokens = 100, .wrap_up = true})), called(1, {"1"}), done("1")},
       "ask for 59"},
      {"the last turn may use it",
       {began(limited({.max_total_tokens = 100, .wrap_up = true})),
        called(1, {"1"}),
        done("1"),
        near(Code::run_token_budget)},
       "ask for 66"},
      {"a tenth of the money is kept",
       {began(limited({.max_cost_usd = money_of("0.011"), .wrap_up = true})),
        called(1, {"1"}),
        done("1")},
       "say wrap_up"},
      {"the time, as the loop has said",
       {began(limited({.timeout = agent::Milliseconds{1'000}, .wrap_up = true})),
        near(Code::run_timeout),
        replied(1, "so far")},
       "finish 124 limits.timeout"},

      {"the agent's verdict",
       {began(),
        called(1, {"1"}),
        agent::ToolFinished{.result = {.call_id = "1", .task_failed = true}}},
       "finish 1"},
      {"the agent's verdict goes back",
       {began(),
        called(1, {"1"}),
        agent::ToolFinished{.result = {.call_id = "1", .task_failed = true}},
        said("denied")},
       "ask"},
      {"another agent has taken over, and answers",
       {began(), called(1, {"1"}), taking_over("1"), took_over("1"), done("1")},
       "finish 0"},
      {"it says that the task failed",
       {began(),
        called(1, {"1"}),
        taking_over("1"),
        took_over("1", Code::run_task_failed),
        done("1")},
       "finish 1"},
      {"nobody knows yet how it went", {began(), called(1, {"1"}), taking_over("1")}, "run 1"},
      {"it came to nothing",
       {began(), called(1, {"1"}), taking_over("1"), took_over("1", Code::output_empty), done("1")},
       "finish 112"},
      {"its answer goes back",
       {began(), called(1, {"1"}), taking_over("1"), took_over("1"), done("1"), said("sent_on")},
       "ask"},
      {"a fatal tool failed", {began(), called(1, {"1"}), ended(Code::tool_failed)}, "finish 110"},
      {"the same, with another call open",
       {began(), called(1, {"1", "2"}), ended(Code::tool_failed)},
       "finish 110"},
      {"nobody can say yes",
       {began(), called(1, {"1"}), ended(Code::tool_confirmation_required, ToolStatus::denied)},
       "finish 92 permissions.allow"},
      {"a rule says no, and that is fatal",
       {began(), called(1, {"1"}), ended(Code::tool_policy_blocked, ToolStatus::denied)},
       "finish 92 permissions.allow"},
      {"somebody said stop",
       {began(), called(1, {"1"}), ended(Code::run_declined, ToolStatus::denied)},
       "finish 94"},
      {"nobody could look at what it has left",
       {began(), called(1, {"1"}), ended(Code::os_failed)},
       "finish 71"},
      {"the sandbox said no, and that is fatal",
       {began(), called(1, {"1"}), ended(Code::sandbox_violation)},
       "finish 93"},

      {"the last turn was a call",
       {began(limited({.max_turns = 1})), called(1, {"1"}), done("1")},
       "finish 80 limits.max_turns"},
      {"the last turn is an answer",
       {began(limited({.max_turns = 1})), replied(1, "done")},
       "finish 0"},
      {"four turns of five",
       {began(limited({.max_turns = 5})), called(4, {"1"}), done("1")},
       "warn limits.max_turns"},
      {"the same, and it was said",
       {began(limited({.max_turns = 5})),
        called(4, {"1"}),
        done("1"),
        agent::LimitWarning{.limit = "limits.max_turns"}},
       "ask"},
      {"more calls than are left",
       {began(limited({.max_tool_calls = 2})), called(1, {"1", "2", "3"})},
       "run 1 2"},
      {"no calls are left",
       {began(limited({.max_tool_calls = 1})), called(1, {"1", "2"}), done("1")},
       "finish 83 limits.max_tool_calls"},
      {"tokens are used up",
       {began(limited({.max_total_tokens = 15})), called(1, {"1"}), done("1")},
       "finish 81 limits.max_total_tokens"},
      {"tokens are left",
       {began(limited({.max_total_tokens = 100})), called(1, {"1"}), done("1")},
       "ask for 69"},
      {"the next request is too long",
       {began(limited({.max_total_tokens = 31})),
        called(1, {"1"}),
        done("1"),
        agent::LimitWarning{.limit = "limits.max_total_tokens"}},
       "finish 81 limits.max_total_tokens"},
      {"all is spent",
       {began(limited({.max_cost_usd = money_of("0.01")})), called(1, {"1"}), done("1")},
       "finish 82 limits.max_cost_usd"},
      {"nobody knows what was spent",
       {began(limited({.max_cost_usd = money_of("1")})), agent::ModelBroken{.cost = std::nullopt}},
       "finish 82 limits.max_cost_usd"},
      {"what is left pays for so many tokens",
       {began({.limits = {.max_cost_usd = money_of("0.02")},
               .prices = {{"a/1",
                           {.input = {.base = money_of("0")},
                            .output = {.base = money_of("100")}}}}}),
        called(1, {"1"}),
        done("1")},
       "ask for 100"},
  };
  std::vector<EventBody> paused = {began()};
  for (int turn = 1; turn <= 21; ++turn) {
    paused.push_back(replied(turn, "wait", Stop::pause));
  }
  all.push_back({"paused 21 times", std::move(paused), "finish 76"});
  std::vector<EventBody> repeated = {began(limited({.max_repeat_calls = 2}))};
  for (int turn = 1; turn <= 2; ++turn) {
    repeated.push_back(called(turn, {"1"}));
    repeated.push_back(done("1"));
  }
  all.push_back({"the same call twice", std::move(repeated), "finish 86 limits.max_repeat_calls"});
  return all;
}

// The events of a run that ends with them, its exit code and its text.
struct EndingText {
  const char* when;
  std::vector<EventBody> events;
  int exit_code;
  std::string text;
};

std::vector<EndingText> ending_texts() {
  const EventBody repairs = began({.output_schema = k_any_object, .repair_attempts = 1});
  const EventBody malformed = replied(2, "", Stop::malformed_tool_call);
  return {
      {"a malformed call is between the halves",
       {began(),
        replied(1, "1. stop, 2. ", Stop::max_tokens),
        said("truncated"),
        malformed,
        said("malformed_tool_call"),
        replied(3, "close.")},
       0,
       "1. stop, 2. close."},
      {"a pause and a malformed call are between the halves",
       {began(),
        replied(1, "1. stop, 2. ", Stop::pause),
        malformed,
        said("malformed_tool_call"),
        replied(3, "close.")},
       0,
       "1. stop, 2. close."},
      {"a blank cut is between the halves",
       {began(),
        replied(1, "1. stop, ", Stop::pause),
        replied(2, "", Stop::max_tokens),
        said("truncated"),
        replied(3, "2. close.")},
       0,
       "1. stop, 2. close."},
      {"the second half does not come",
       {began(), replied(1, "1. stop, ", Stop::max_tokens), said("truncated"), replied(2, "")},
       85,
       "1. stop, "},
      {"what came before a call is no half",
       {began(),
        replied(1, "1. stop, ", Stop::max_tokens),
        said("truncated"),
        called(2, {"1"}),
        done("1"),
        replied(3, "It is closed.")},
       0,
       "It is closed."},
      {"what the checks have refused is no half",
       {began(checking(3)),
        replied(1, "one", Stop::pause),
        replied(2, ""),
        checked("no"),
        checked("no"),
        said("checks_failed"),
        replied(3, "two"),
        checked("", true),
        checked("", true)},
       0,
       "two"},
      {"the correction was cut before a word",
       {repairs,
        replied(1, "nope"),
        said("output_invalid"),
        replied(2, "", Stop::max_tokens),
        said("truncated"),
        replied(3, R"({"x":1})")},
       0,
       R"({"x":1})"},
      {"the correction was paused before a word",
       {repairs,
        replied(1, "nope"),
        said("output_invalid"),
        replied(2, "", Stop::pause),
        replied(3, R"({"x":1})")},
       0,
       R"({"x":1})"},
      {"the correction was cut, and goes on behind a malformed call",
       {repairs,
        replied(1, "nope"),
        said("output_invalid"),
        replied(2, R"({"x")", Stop::max_tokens),
        said("truncated"),
        malformed,
        said("malformed_tool_call"),
        replied(3, ":1}")},
       0,
       R"({"x":1})"},
      {"no correction has come",
       {repairs,
        replied(1, "nope"),
        said("output_invalid"),
        malformed,
        said("malformed_tool_call"),
        replied(3, "", Stop::max_tokens),
        said("truncated"),
        replied(4, "")},
       111,
       "nope"},
  };
}

}  // namespace

TEST_CASE("step: what is next follows from the events so far", "[agent]") {
  for (const NextStep& row : rows()) {
    INFO(row.when);
    std::vector<agent::Event> events;
    for (const EventBody& body : row.events) {
      events.push_back(tests::numbered(body, static_cast<std::int64_t>(events.size()) + 1));
    }
    CHECK(std::visit(Described{}, agent::next(tests::folded(events))) == row.step);
    const auto kept = tests::kept(events);
    CHECK(std::visit(Described{}, agent::next(tests::folded(kept))) == row.step);
  }
}

TEST_CASE("step: what an answer consists of where it came in pieces", "[agent]") {
  for (const EndingText& row : ending_texts()) {
    INFO(row.when);
    agent::State state;
    for (const EventBody& body : row.events) {
      agent::advance(state, body);
    }
    const agent::Step step = agent::next(state);
    INFO(std::visit(Described{}, step));
    const auto* finish = std::get_if<agent::Finish>(&step);
    REQUIRE(finish != nullptr);
    const agent::RunResult result = agent::make_result(state, finish->ending);
    CHECK(result.exit_code == row.exit_code);
    CHECK(result.text == row.text);
    CHECK(result.partial == (row.exit_code != 0));
  }
}

TEST_CASE("step: replies that are no answer end a run, in whatever order they come", "[agent]") {
  struct Kind {
    EventBody reply;
    int exit_code;
  };
  EventBody cut_call = called(1, {"1"});
  std::get<agent::ModelResponded>(cut_call) = {
      .turn = 1,
      .reply = agent::Reply{.text = "so",
                            .tool_calls = {{.id = "1", .name = "x", .arguments = "{}"}},
                            .stop_reason = Stop::max_tokens}};
  const std::vector<Kind> kinds = {{replied(1, "so", Stop::max_tokens), 85},
                                   {replied(1, "", Stop::max_tokens), 85},
                                   {cut_call, 85},
                                   {replied(1, "so", Stop::tool_use), 76},
                                   {replied(1, "", Stop::malformed_tool_call), 76},
                                   {replied(1, "so", Stop::pause), 76},
                                   {replied(1, "", Stop::pause), 76},
                                   {replied(1, ""), 112}};
  const auto ending_of = [](const std::vector<const Kind*>& turns) {
    agent::State state;
    agent::advance(state, began());
    bool was_cut = false;
    for (std::size_t turn = 0; turn < 60;) {
      const agent::Step step = agent::next(state);
      if (const auto* say = std::get_if<agent::Say>(&step)) {
        agent::advance(state, say->message);
      } else if (const auto* finish = std::get_if<agent::Finish>(&step)) {
        const int code = agent::exit_code(finish->ending);
        const Kind& last = *turns[(turn - 1) % turns.size()];
        const bool is_rest_missing = last.exit_code == 112 && was_cut && code == 85;
        const bool is_whole = last.exit_code == 112 && !was_cut && code == 0;
        CHECK((code == last.exit_code || is_rest_missing || is_whole));
        const auto result = agent::make_result(state, finish->ending);
        CHECK(result.partial == (code != 0 && !result.text.empty()));
        return true;
      } else {
        const Kind& kind = *turns[turn++ % turns.size()];
        was_cut = was_cut || kind.exit_code == 85;
        agent::advance(state, kind.reply);
      }
    }
    return false;
  };
  for (const Kind& one : kinds) {
    for (const Kind& other : kinds) {
      for (const Kind& third : kinds) {
        INFO(&one - kinds.data() << ' ' << &other - kinds.data() << ' ' << &third - kinds.data());
        CHECK(ending_of({&one, &other, &third}));
      }
    }
  }
}

// Those of agent/step.cpp: an ending that it learns needs a row above.
TEST_CASE("step: each ending that it decides has its row", "[agent]") {
  std::set<std::string> seen;
  for (const NextStep& row : rows()) {
    if (row.step.starts_with("finish ")) {
      seen.insert(row.step.substr(7, row.step.find(' ', 7) - 7));
    }
  }
  CHECK(seen == std::set<std::string>{"0",  "1",  "71",  "75",  "76",  "80",  "81",
                                      "82", "83", "84",  "85",  "86",  "92",  "93",
                                      "94", "95", "110", "111", "112", "113", "124"});
}

TEST_CASE("step: no tool can be called in a correction and in the last turn", "[agent]") {
  const RunPlan plan{
      .tool_choice = "required", .output_schema = k_any_object, .repair_attempts = 1};
  std::vector<agent::Event> events = {tests::numbered(began(plan)),
                                      tests::numbered(replied(1, "done")),
                                      tests::numbered(said("output_invalid"))};
  CHECK(agent::tool_choice(tests::folded(events)) == "none");
  events.push_back(tests::numbered(replied(2, "{}")));
  events.push_back(tests::numbered(said("checks_failed")));
  CHECK(agent::tool_choice(tests::folded(events)) == "required");
  events.push_back(tests::numbered(near(Code::run_max_turns)));
  CHECK(agent::tool_choice(tests::folded(events)) == "none");
}

TEST_CASE("step: a tool must be called only until one was", "[agent]") {
  const RunPlan plan{.tool_choice = "required"};
  const std::vector<agent::Event> events = {
      tests::numbered(began(plan)), tests::numbered(called(1, {"1"})), tests::numbered(done("1"))};
  CHECK(agent::tool_choice(tests::folded(std::span(events).first(1))) == "required");
  CHECK(agent::tool_choice(tests::folded(events)).empty());
}
