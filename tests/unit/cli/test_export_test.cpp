#include "cli/test_export.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <functional>

namespace {

using Events = std::vector<agent::Event>;

agent::Event event(agent::EventBody body) {
  return {.run_id = "01a206d1-c383-7c84-8531-41dbbc5bceb9",
          .seq = 1,
          .time = {},
          .body = std::move(body)};
}

agent::RunStarted started() {
  agent::RunStarted started;
  started.agent_file = "agent.yaml";
  started.prompt = "Say \"it\": {{ so }}";
  started.made_from.options = {"--param=target=Ada=1", "--model=replay/x.yaml"};
  return started;
}

agent::ModelResponded said(std::string text, std::vector<agent::ToolCall> calls = {}) {
  agent::Reply reply;
  reply.stop_reason = calls.empty() ? agent::StopReason::end_turn : agent::StopReason::tool_use;
  reply.text = std::move(text);
  reply.tool_calls = std::move(calls);
  return {.turn = 1, .reply = std::move(reply)};
}

agent::ModelResponded cut(std::string text) {
  agent::Reply reply;
  reply.stop_reason = agent::StopReason::max_tokens;
  reply.text = std::move(text);
  return {.turn = 2, .reply = std::move(reply)};
}

agent::RunFinished finished(int code, std::string text) {
  agent::RunFinished end;
  end.result.exit_code = code;
  end.result.text = std::move(text);
  return end;
}

Events whole() {
  return {event(started()),
          event(said("",
                     {{.id = "c1", .name = "shell", .arguments = R"({"command":"ls"})"},
                      {.id = "c2", .name = "x", .arguments = "{\"cut"}})),
          event(agent::ToolStarted{.turn = 1, .call_id = "c1", .name = "shell", .arguments = "{}"}),
          event(cut("Do")),
          event(said("ne.")),
          event(finished(0, "Done."))};
}

std::string refusal(const std::function<void(Events&)>& change) {
  Events events = whole();
  change(events);
  const auto can = cli::check_can_be_case(events);
  REQUIRE_FALSE(can);
  CHECK(can.error().code == agent::Code::cli_usage);
  CHECK_FALSE(can.error().help.empty());
  return can.error().message.substr(
      std::string_view("no test case can be made of this run: ").size());
}

std::string refusal_of_start(const std::function<void(agent::RunStarted&)>& change) {
  return refusal([&](Events& events) { change(std::get<agent::RunStarted>(events[0].body)); });
}

std::string refusal_of(agent::EventBody body) {
  return refusal(
      [&](Events& events) { events.insert(events.begin() + 1, event(std::move(body))); });
}

}  // namespace

TEST_CASE("case of a run: its prompt, parameters, replies and end", "[cli]") {
  const Events events = whole();
  REQUIRE(cli::check_can_be_case(events));
  const auto exported =
      cli::case_of_run(events,
                       {.agent = "../agent.yaml", .script = "x.replay.yaml", .workspace = ".."},
                       agent::Redactor({}));
  CHECK(exported.test ==
        "# Of the run 01a206d1-c383-7c84-8531-41dbbc5bceb9.\nversion: 1\nagent: \"../agent.yaml\"\n"
        "replay: \"x.replay.yaml\"\nprompt: \"Say \\\"it\\\": {{ so }}\"\nparameters: "
        "{\"target\":\"Ada=1\"}\nworkspace: \"..\"\nexpect:\n  exit_code: 0\n  text: {equals: "
        "\"Done.\"}\n  tools: [\"shell\"]\n");
  CHECK(
      exported.script ==
      "# Of the run 01a206d1-c383-7c84-8531-41dbbc5bceb9.\nversion: 1\nreplies:\n"
      "  - {\"tool_calls\":[{\"name\":\"shell\",\"arguments\":{\"command\":\"ls\"},\"id\":\"c1\"},"
      "{\"name\":\"x\",\"arguments\":\"{\\\"cut\",\"id\":\"c2\"}]}\n"
      "  - {\"text\":\"Do\",\"stop_reason\":\"max_tokens\"}\n"
      "  - {\"text\":\"ne.\"}\n");
}

TEST_CASE("case of a run: a secret is in neither file", "[cli]") {
  Events events = whole();
  events.insert(events.end() - 1, event(said("the key is kT9-vQ2x7LmZ4wRb8n")));
  std::get<agent::RunFinished>(events.back().body).result.text = "kT9-vQ2x7LmZ4wRb8n";
  agent::Redactor redactor({});
  redactor.add("kT9-vQ2x7LmZ4wRb8n");
  const auto exported = cli::case_of_run(events, {.agent = "a", .script = "s"}, redactor);
  CHECK(exported.script.contains("the key is [redacted]"));
  CHECK(exported.test.contains("text: {equals: \"[redacted]\"}"));
}

TEST_CASE("case of a run: what no case can say is refused", "[cli]") {
  CHECK(refusal([](Events& events) { events.pop_back(); }) == "it has not ended");
  CHECK(refusal([](Events& events) { events.clear(); }) == "it has no beginning");
  CHECK(refusal([](Events& events) { events.insert(events.begin() + 1, event(started())); }) ==
        "it was carried on");
  CHECK(refusal([](Events& events) { events.back() = event(finished(124, "")); }) ==
        "it ended with 124 (timeout), which no script of its replies leads to");
  CHECK(refusal_of_start([](agent::RunStarted& one) { one.agent_file.clear(); }) ==
        "it has no agent file");
  CHECK(refusal_of_start([](agent::RunStarted& one) { one.resumes = 3; }) ==
        "it was carried on, or goes on from another");
  CHECK(refusal_of_start([](agent::RunStarted& one) { one.attachments.emplace_back(); }) ==
        "its prompt has files with it");
  CHECK(refusal_of_start([](agent::RunStarted& one) { one.made_from.options = {"--yes"}; }) ==
        "`--yes` was on its command line");
  CHECK(refusal_of_start([](agent::RunStarted& one) {
          one.made_from.options = {"--param=key=[redacted]"};
        }) == "there was a secret in `--param=key=[redacted]`");
  CHECK(refusal_of(agent::ApprovalRequested{}) ==
        "calls of it wait for a person's answer, or had one");
  CHECK(refusal_of(agent::MemberStarted{}) ==
        "other agents worked in it, and each has a script of its own");
  CHECK(refusal_of(agent::ContextCompacted{}) == "its conversation was made shorter");
  agent::GuardrailRan judged;
  judged.judge.emplace();
  CHECK(refusal_of(judged) == "a model judged for its guardrails");
}
