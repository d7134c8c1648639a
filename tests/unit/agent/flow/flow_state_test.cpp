#include "agent/flow/flow_state.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Json;
using agent::StepSpec;
using agent::flow::FlowState;
using agent::flow::Member;
using agent::flow::MemberEnd;

StepSpec agent_step(std::string name, std::vector<std::size_t> needs = {}) {
  return {.name = std::move(name), .agent = "a.yaml", .needs = std::move(needs)};
}

StepSpec command_step(std::string name, std::vector<std::size_t> needs = {}) {
  return {.name = std::move(name), .command = "true", .needs = std::move(needs)};
}

MemberEnd well(std::string text, std::string output = {}) {
  return {.result = {.text = std::move(text), .output = std::move(output), .turns = 1}};
}

MemberEnd failed(agent::Code code) {
  MemberEnd end;
  end.result.error = agent::Error{.code = code, .message = "it failed"};
  end.result.exit_code = agent::exit_code(*end.result.error);
  return end;
}

MemberEnd exited(int status) {
  MemberEnd end = status == 0 ? well("") : failed(agent::Code::team_member_failed);
  end.exit_status = status;
  return end;
}

std::string begun(FlowState& state) {
  std::string names;
  for (const Member& member : state.begin()) {
    names += (names.empty() ? "" : " ") + state.name_of(member);
  }
  return names;
}

}  // namespace

TEST_CASE("flow state: steps begin when those that they need are done") {
  const std::vector<StepSpec> steps = {agent_step("plan"),
                                       agent_step("fix", {0}),
                                       agent_step("docs", {0}),
                                       agent_step("note", {1, 2})};
  FlowState state(steps, Json::object());
  CHECK(begun(state) == "plan");
  CHECK(begun(state).empty());  // each once
  state.end({.step = 0}, well("p"));
  CHECK(begun(state) == "fix docs");
  state.end({.step = 2}, well("d"));
  CHECK(begun(state).empty());
  state.end({.step = 1}, well("f"));
  CHECK(begun(state) == "note");
  state.end({.step = 3}, well("the answer", "{}"));
  CHECK(begun(state).empty());
  CHECK_FALSE(state.ending());
  CHECK(agent::exit_code(state.last_ending()) == 0);
  CHECK(state.text() == "the answer");
  CHECK(state.output() == "{}");
}

TEST_CASE("flow state: items of a list, so many at a time, and what comes of them") {
  std::vector<StepSpec> steps = {
      agent_step("plan"), agent_step("fix", {0}), agent_step("note", {1})};
  steps[1].for_each = "plan.output.files";
  steps[1].max_parallel = 2;
  steps[1].prompt = "Fix {{ item }} of {{ plan.output.files }}";
  steps[2].prompt = "{{ fix[*].text }} {{ fix[0].exit_code }}";
  FlowState state(steps, Json::object());
  begun(state);
  state.end({.step = 0}, well("", R"({"files":["a","b","c"]})"));
  CHECK(begun(state) == "fix[0] fix[1]");
  CHECK(state.task_of({.step = 1, .item = 1})->prompt == R"(Fix b of ["a","b","c"])");
  state.end({.step = 1, .item = 1}, well("B"));
  CHECK(begun(state) == "fix[2]");
  state.end({.step = 1, .item = 0}, well("A"));
  state.end({.step = 1, .item = 2}, well("C"));
  CHECK(begun(state) == "note");
  CHECK(state.task_of({.step = 2})->prompt == R"(["A","B","C"] 0)");
  CHECK(state.members().size() == 5);
}

TEST_CASE("flow state: a member that is not over ends it, whatever its step says") {
  for (const bool is_repeated : {false, true}) {
    std::vector<StepSpec> steps = {
        agent_step("fix"), command_step("test", {0}), agent_step("note")};
    steps[1].on_error = StepSpec::OnError::proceed;
    if (is_repeated) {
      steps[1].repeat = {.with = 0, .max = 3};
    }
    FlowState state(steps, Json::object());
    begun(state);
    state.end({.step = 0}, well(""));
    CHECK(begun(state) == "test");
    MemberEnd stopped = failed(agent::Code::run_cost_budget);
    stopped.is_suspended = true;
    state.end({.step = 1}, std::move(stopped));
    REQUIRE(state.ending());
    CHECK(state.ending()->error->code == agent::Code::run_cost_budget);
    CHECK(begun(state).empty());
  }
}

TEST_CASE("flow state: one that waits for a person keeps its place, and all else goes on") {
  std::vector<StepSpec> steps = {agent_step("plan"),
                                 agent_step("fix", {0}),
                                 agent_step("look", {0}),
                                 agent_step("note", {1}),
                                 agent_step("tell", {2})};
  steps[1].for_each = "plan.output.files";
  steps[1].max_parallel = 2;
  FlowState state(steps, Json::object());
  begun(state);
  state.end({.step = 0}, well("", R"({"files":["a","b","c"]})"));
  CHECK(begun(state) == "fix[0] fix[1] look");
  const auto waiting = [] {
    MemberEnd end = failed(agent::Code::tool_confirmation_required);
    end.is_suspended = true;
    return end;
  };
  state.end({.step = 1, .item = 1}, waiting());
  CHECK_FALSE(state.ending());
  CHECK(begun(state).empty());
  state.end({.step = 2}, well("Looked."));
  CHECK(begun(state) == "tell");
  state.end({.step = 1, .item = 0}, waiting());
  state.end({.step = 4}, well("Told."));
  CHECK(begun(state).empty());
  CHECK_FALSE(state.ending());
  REQUIRE(state.ending_of_waiting());
  CHECK(state.ending_of_waiting()->error->code == agent::Code::tool_confirmation_required);
  CHECK(state.ending_of_waiting()->error->message.starts_with("step `fix[0]`: "));
}

TEST_CASE("flow state: an empty list is done, and is left out of the answer") {
  std::vector<StepSpec> steps = {agent_step("plan"), agent_step("fix", {0})};
  steps[1].for_each = "plan.output.files";
  FlowState state(steps, Json::object());
  begun(state);
  state.end({.step = 0}, well("nothing to do", R"({"files":[]})"));
  CHECK(begun(state).empty());
  CHECK_FALSE(state.ending());
  CHECK(state.text() == "nothing to do");
}

TEST_CASE("flow state: what is no list, or not there, ends the flow") {
  std::vector<StepSpec> steps = {agent_step("plan"), agent_step("fix", {0})};
  steps[1].for_each = "plan.output.files";
  FlowState state(steps, Json::object());
  begun(state);
  state.end({.step = 0}, well("", R"({"files":7})"));
  CHECK(begun(state).empty());
  REQUIRE(state.ending());
  CHECK(state.ending()->error->code == agent::Code::team_invalid);
  CHECK(state.ending()->error->message ==
        "step `fix`: `for_each: plan.output.files` is not a list, but `7`");
}

TEST_CASE("flow state: a step whose `when` does not hold is skipped, and those behind it are not") {
  std::vector<StepSpec> steps = {
      command_step("test"), agent_step("fix", {0}), agent_step("note", {1})};
  steps[0].on_error = StepSpec::OnError::proceed;
  steps[1].when = "test.exit_code != 0";
  steps[2].prompt = "{{ fix.text }}";
  FlowState state(steps, Json::object());
  begun(state);
  state.end({.step = 0}, exited(0));
  CHECK(begun(state) == "note");
  const auto task = state.task_of({.step = 2});
  REQUIRE_FALSE(task);
  CHECK(task.error().message == "`fix.text` is not there, or is null");  // the ending says whose
  CHECK_FALSE(state.members()[1].exit_code);
}

TEST_CASE("flow state: what steps have brought makes no prompt without end") {
  std::vector<StepSpec> steps = {command_step("test"), agent_step("note", {0})};
  steps[1].prompt = "{{ test.text }}{{ test.text }}";
  constexpr std::size_t k_half = 16u << 20;
  for (const std::size_t more : {0u, 1u}) {
    FlowState state(steps, Json::object());
    begun(state);
    MemberEnd end = exited(0);
    end.result.text = std::string(k_half + more, 'x');
    state.end({.step = 0}, std::move(end));
    begun(state);
    const auto task = state.task_of({.step = 1});
    CHECK(task.has_value() == (more == 0));
    CHECK((task || task.error().message.contains("more than 32 MiB")));
  }
}

TEST_CASE("flow state: a failure ends the flow as the step ended, or does not") {
  std::vector<StepSpec> steps = {agent_step("plan"), agent_step("note", {0})};
  SECTION("an agent's") {
    FlowState state(steps, Json::object());
    begun(state);
    state.end({.step = 0}, failed(agent::Code::run_max_turns));
    REQUIRE(state.ending());
    CHECK(agent::exit_code(*state.ending()) == 80);
    CHECK(state.ending()->error->message == "step `plan`: it failed");
    CHECK(begun(state).empty());
  }
  SECTION("a command's") {
    steps[0] = command_step("plan");
    FlowState state(steps, Json::object());
    begun(state);
    state.end({.step = 0}, exited(2));
    CHECK(agent::exit_code(*state.ending()) == 114);
  }
  SECTION("one that the flow goes on from") {
    steps[0].on_error = StepSpec::OnError::proceed;
    FlowState state(steps, Json::object());
    begun(state);
    state.end({.step = 0}, failed(agent::Code::run_max_turns));
    CHECK(begun(state) == "note");
    state.end({.step = 1}, well("all the same"));
    CHECK(agent::exit_code(state.last_ending()) == 0);
  }
  SECTION("but not where it is the last agent's") {
    steps[1].on_error = StepSpec::OnError::proceed;
    FlowState state(steps, Json::object());
    begun(state);
    state.end({.step = 0}, well("p"));
    begun(state);
    state.end({.step = 1}, failed(agent::Code::provider_auth));
    CHECK_FALSE(state.ending());
    CHECK(agent::exit_code(state.last_ending()) == 77);
  }
}

TEST_CASE("flow state: a step is repeated with another until it is well, or too often") {
  std::vector<StepSpec> steps = {
      agent_step("fix"), command_step("test", {0}), agent_step("note", {1})};
  steps[0].prompt = "Go.";
  steps[1].repeat = StepSpec::Repeat{.with = 0, .max = 2};
  FlowState state(steps, Json::object());
  const auto round = [&](std::int64_t number, int status) {
    CHECK(begun(state) == "fix");
    state.end({.step = 0, .round = number}, well(fmt::format("try {}", number)));
    CHECK(begun(state) == "test");
    state.end({.step = 1, .round = number}, exited(status));
  };
  round(1, 1);
  round(2, 1);
  SECTION("well in the end") {
    round(3, 0);
    CHECK(begun(state) == "note");
    std::string members;
    for (const agent::MemberResult& one : state.members()) {
      members += fmt::format("{}@{}={} ", one.member, one.round, one.exit_status.value_or(-1));
    }
    CHECK(members == "fix@1=-1 fix@2=-1 fix@3=-1 test@1=1 test@2=1 test@3=0 note@1=-1 ");
  }
  SECTION("never") {
    round(3, 1);
    REQUIRE(state.ending());
    CHECK(agent::exit_code(*state.ending()) == 113);
    CHECK(state.ending()->error->message == "step `test` failed in round 3, and `repeat.max` is 2");
    CHECK(begun(state).empty());
  }
}

TEST_CASE("flow state: prompt and parameters") {
  std::vector<StepSpec> steps = {agent_step("plan")};
  steps[0].prompt = "{{ prompt }} {{ parameters.n }} {{ \"{{\" }}";
  steps[0].parameters = {{"target", "{{ parameters.t }}!"}};
  FlowState state(steps, {{"prompt", "Do it"}, {"parameters", {{"n", 3}, {"t", "main"}}}});
  begun(state);
  const auto task = state.task_of({.step = 0});
  REQUIRE(task);
  CHECK(task->prompt == "Do it 3 {{");
  CHECK(task->parameters == std::vector<std::pair<std::string, std::string>>{{"target", "main!"}});
}

TEST_CASE("flow state: what a command says, as text, lines and JSON") {
  std::vector<StepSpec> steps = {command_step("list"), agent_step("all", {0})};
  steps[1].prompt = "{{ list.lines }} {{ list.text }}";
  FlowState state(steps, Json::object());
  begun(state);
  MemberEnd end = exited(0);
  end.result.text = "a\nb\n";
  state.end({.step = 0}, std::move(end));
  CHECK(state.task_of({.step = 1})->prompt == "[\"a\",\"b\"] a\nb\n");
}

TEST_CASE("flow state: what a command has said counts where it failed, too") {
  std::vector<StepSpec> steps = {command_step("list"), agent_step("all", {0})};
  steps[0].on_error = StepSpec::OnError::proceed;
  steps[1].prompt = "{{ list.lines }} {{ list.output }} {{ list.exit_code }} {{ list.stderr }}";
  FlowState state(steps, Json::object());
  begun(state);
  MemberEnd end = failed(agent::Code::team_member_failed);  // it could not be run
  end.result.text = "[1]\n";
  end.errors = "oh";
  state.end({.step = 0}, std::move(end));
  CHECK(state.task_of({.step = 1})->prompt == "[\"[1]\"] [1] 126 oh");
}
