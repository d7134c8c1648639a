#include "cli/manual/schema_events.h"

#include "agent/event.h"
#include "agent/schema/json_schema.h"
#include "tests/unit/cli/command_support.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace {

using agent::Json;

// Readers must bear fields that they do not know; what the program itself writes must all be in
// the schema.
Json strict(Json schema) {
  if (schema.is_object() && schema.contains("properties")) {
    schema["additionalProperties"] = false;
  }
  if (schema.is_structured()) {
    for (Json& part : schema) {
      part = strict(part);
    }
  }
  return schema;
}

agent::JsonSchema compiled(const Json& schema) {
  auto result = agent::JsonSchema::compile(strict(schema));
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  return std::move(*result);
}

agent::Error full_error() {
  return {.code = agent::Code::provider_rate_limited,
          .message = "slow down",
          .where = agent::Where{.file = "a.yaml", .line = 1, .column = 2},
          .cause = agent::Cause{agent::Code::provider_network, "reset"},
          .retry_after = std::chrono::milliseconds(1500),
          .http_status = 429,
          .provider = "p",
          .model = "m",
          .request_id = "r",
          .attempts = 2};
}

std::vector<agent::EventBody> every_event() {
  agent::Reply reply{.text = "t", .stop_reason = agent::StopReason::tool_use};
  reply.tool_calls = {{.id = "1", .name = "a", .arguments = R"({"x":1})"},
                      {.id = "2", .name = "b", .arguments = "{broken"}};
  agent::ToolResult failed{.call_id = "1",
                           .name = "a",
                           .status = agent::ToolStatus::failed,
                           .code = agent::Code::tool_failed,
                           .truncated = true,
                           .full_output = "/tmp/x"};
  agent::RunResult stopped{.exit_code = 80, .text = "half", .partial = true};
  stopped.stop =
      agent::Stop{.reason = "max_turns", .limit = "limits.max_turns", .used = 2, .max = 2};
  stopped.error = agent::Error{.code = agent::Code::run_max_turns, .message = "enough"};
  agent::RunResult broken{.exit_code = 75, .error = full_error(), .model = "m", .run_id = "r"};
  broken.fallbacks = {{"a/b", "c/d", agent::Code::provider_quota, 2}};
  agent::RunResult flow{.text = "done", .run_id = "r"};
  flow.members = {{.member = "plan", .run_id = "p", .exit_code = 0, .turns = 1},
                  {.member = "test", .exit_code = 114, .exit_status = 2},
                  {.member = "note"}};
  return {
      agent::MemberStarted{.member = "fix[0]",
                           .step = "fix",
                           .item = 0,
                           .kind = "agent",
                           .runs = "a",
                           .run_id = "r"},
      agent::MemberStarted{.member = "test", .step = "test", .kind = "command", .runs = "make"},
      agent::MemberFinished{
          .member = "test", .step = "test", .exit_status = 2, .result = stopped, .suspended = true},
      agent::RunFinished{.result = flow},
      agent::RunStarted{.version = "1", .tools = {"a"}},
      agent::TurnStarted{1},
      agent::ModelRequested{.turn = 1, .model = "m"},
      agent::ModelRequested{.turn = 1, .model = "m", .max_output_tokens = 5},
      agent::ModelDelta{.text = "x"},
      agent::ModelDelta{.kind = agent::ModelDelta::Kind::reasoning, .text = "x"},
      agent::ModelBroken{.usage = {}, .estimated = agent::Usage{.input = 5}},
      agent::ModelReset{"cut"},
      agent::ModelRetrying{.attempt = 1, .max_attempts = 4, .error = full_error()},
      agent::ModelFallback{.from = "a/b", .to = "c/d", .error = full_error()},
      agent::ModelResponded{.turn = 1, .reply = reply},
      agent::UserSaid{"go on", "truncated"},
      agent::ApprovalRequested{.turn = 1,
                               .request = {.call = {"1", "a", "{}"},
                                           .reason = "`ask: a` (agent.yaml)",
                                           .rule = "a",
                                           .may_always = true}},
      agent::ApprovalAnswered{.call_id = "1", .answer = agent::Answer::once, .by = "person"},
      agent::RunParked{.turn = 1,
                       .cwd = "/work",
                       .calls = {{.request = {.call = {"1", "a", "{}"}, .reason = "r"},
                                  .since = "2026-11-21T09:30:00.123Z",
                                  .deadline = ""}},
                       .others = {{.call_id = "2", .name = "b", .verdict = "runs"}}},
      agent::ToolStarted{.turn = 1, .call_id = "1", .name = "a", .arguments = "{}"},
      agent::ToolStarted{.turn = 1, .call_id = "1", .name = "a", .arguments = "{"},
      agent::ToolOutput{"1", "out"},
      agent::ToolFinished{.turn = 1, .result = failed},
      agent::ToolFinished{.turn = 1, .result = {.call_id = "1", .name = "a"}},
      agent::HookRan{.turn = 1,
                     .point = agent::HookPoint::pre_tool_use,
                     .hook = "./policy.sh",
                     .call_id = "1",
                     .outcome = "denied",
                     .reason = "no",
                     .exit_status = 2},
      agent::HookRan{.point = agent::HookPoint::run_end, .hook = "x", .outcome = "failed"},
      agent::GuardrailRan{.point = agent::HookPoint::stop,
                          .guardrail = "pii",
                          .action = "redact",
                          .judge = agent::ModelUse{.model = "a/b", .turns = 1},
                          .text = "…"},
      agent::GuardrailRan{.guardrail = "pii", .action = "allow"},
      agent::CheckRan{.turn = 2,
                      .check = "tests",
                      .command = "make test",
                      .exit_status = 2,
                      .output = "no",
                      .truncated = true},
      agent::CheckRan{.check = "tests", .command = "make test", .reason = "changed"},
      agent::ContextCompacted{.turn = 3,
                              .action = "summarized",
                              .reason = "fill",
                              .model = "a/b",
                              .window = 8'000,
                              .before = 7'000,
                              .after = 3'000,
                              .messages = 9,
                              .summary = "## Goal",
                              .pinned = {{.path = "plan.md", .content = "…"}},
                              .summarizer = agent::ModelUse{.model = "a/b"}},
      agent::ContextCompacted{
          .action = "cleared", .reason = "overflow", .results = {1, 2}, .error = full_error()},
      agent::ToolsAdded{
          .turn = 1, .reason = "found", .tools = {{.name = "mcp__s__f", .bytes = 90}}},
      agent::LimitWarning{"limits.max_turns", 8, 10},
      agent::Warning{"careful", ""},
      agent::RunFinished{{}},
      agent::RunFinished{stopped},
      agent::RunFinished{broken}};
}

Json as_json(agent::EventBody body) {
  return agent::to_json(agent::Event{
      .run_id = "r", .seq = 1, .time = std::chrono::system_clock::now(), .body = std::move(body)});
}

}  // namespace

TEST_CASE("schema: every event that is written fits the schema, field for field", "[cli]") {
  const agent::JsonSchema schema = compiled(cli::events_schema());
  std::vector<bool> seen(std::variant_size_v<agent::EventBody>);
  for (agent::EventBody& body : every_event()) {
    seen[body.index()] = true;
    const Json json = as_json(std::move(body));
    INFO(agent::dump(json));
    CHECK(schema.check(json).empty());
  }
  CHECK(std::count(seen.begin(), seen.end(), false) == 0);
}

TEST_CASE("schema: an event that lacks or bends a field does not fit", "[cli]") {
  const agent::JsonSchema schema = compiled(cli::events_schema());
  for (agent::EventBody& body : every_event()) {
    Json json = as_json(std::move(body));
    INFO(agent::dump(json));
    json["type"] = "no.such";
    CHECK_FALSE(schema.check(json).empty());
  }
  Json json = as_json(agent::TurnStarted{1});
  json["turn"] = "one";
  CHECK_FALSE(schema.check(json).empty());
  json.erase("turn");
  CHECK_FALSE(schema.check(json).empty());
}

TEST_CASE("schema: the result object fits its schema on every ending", "[cli]") {
  const agent::JsonSchema schema = compiled(cli::result_schema());
  for (const agent::ExitRow& row : agent::exit_table()) {
    const Json json = agent::to_json(agent::RunResult{.exit_code = row.exit_code});
    INFO(agent::dump(json));
    CHECK(schema.check(json).empty());
  }
  for (const agent::CodeRow& row : agent::error_table()) {
    agent::Error error = full_error();
    error.code = row.code;
    CHECK(schema
              .check(agent::to_json(
                  agent::RunResult{.exit_code = agent::exit_code(error), .error = error}))
              .empty());
  }
  CHECK_FALSE(schema.check(Json{{"schema", "errand.result/1"}}).empty());
}

TEST_CASE("schema: the command prints all three", "[cli]") {
  for (const std::string name : {"agent", "result", "events"}) {
    const auto json = agent::parse_json(run_command({"schema", name}).out);
    REQUIRE(json);
    CHECK((*json)["$schema"] == "http://json-schema.org/draft-07/schema#");
  }
}
