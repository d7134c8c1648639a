#include "tools/hooks/hook_protocol.h"

#include "agent/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace {

using agent::HookPoint;
using agent::Json;
using tools::HookAnswer;
using Decision = HookAnswer::Decision;

const agent::ToolCall k_call{
    .id = "c1", .name = "write_file", .arguments = R"({"path":"a.txt","content":"x"})"};

agent::HookContext before_a_call() {
  return {.point = HookPoint::pre_tool_use, .turn = 2, .text = k_call.arguments, .call = &k_call};
}

agent::Result<HookAnswer> answer(std::string_view output,
                                 int exit_status = 0,
                                 std::string_view errors = "",
                                 std::string_view dialect = "claude",
                                 const agent::HookContext& hook_context = before_a_call(),
                                 bool counts = true) {
  return tools::read_hook_answer(
      *tools::hook_dialect(dialect), hook_context, exit_status, output, errors, counts);
}

Json input(std::string_view dialect,
           const agent::HookContext& hook_context,
           bool is_carried_on = false) {
  const std::string text = tools::hook_input(
      *tools::hook_dialect(dialect),
      hook_context,
      {.run_id = "r1", .model = "a/b", .cwd = "/srv/x", .is_carried_on = is_carried_on},
      agent::Clock::Wall(std::chrono::seconds(1'800'000'000)));
  CHECK(text.ends_with("}\n"));
  return agent::parse_json(text).value();
}

}  // namespace

TEST_CASE("hook: the answer's words, in both spellings", "[tools]") {
  struct Row {
    std::string_view output;
    Decision decision;
    std::string_view reason;
    bool stops = false;
  };
  for (const Row& row : {
           Row{"", Decision::none, ""},
           Row{"{}", Decision::none, ""},
           Row{"done.\n", Decision::none, ""},
           Row{R"({"decision": "block", "reason": "no"})", Decision::deny, "no"},
           Row{R"({"decision": "deny", "reason": "no"})", Decision::deny, "no"},
           Row{R"({"decision": "approve"})", Decision::allow, ""},
           Row{R"({"decision": "ask", "reason": "sure?"})", Decision::ask, "sure?"},
           Row{R"({"continue": false, "stopReason": "late"})", Decision::none, "late", true},
           Row{R"({"continue": false, "stop_reason": "late"})", Decision::none, "late", true},
           Row{R"({"hookSpecificOutput": {"permissionDecision": "deny",
                   "permissionDecisionReason": "why"}})",
               Decision::deny,
               "why"},
           Row{R"({"hook_specific_output": {"permission_decision": "allow",
                   "permission_decision_reason": "why"}})",
               Decision::allow,
               "why"},
           Row{R"({"decision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}})",
               Decision::deny,
               ""},
       }) {
    INFO(row.output);
    const auto read = answer(row.output);
    REQUIRE(read);
    CHECK(read->decision == row.decision);
    CHECK(read->reason == row.reason);
    CHECK(read->stops == row.stops);
  }
}

TEST_CASE("hook: what cannot be read is a hook that broke", "[tools]") {
  for (const std::string_view output : {R"({"decision": "block")",
                                        R"({"decision": "blocks"})",
                                        R"({"decision": true})",
                                        R"({"continue": "false"})",
                                        R"({"reason": 1, "decision": "deny"})",
                                        R"({"hookSpecificOutput": "deny"})",
                                        R"({"hookSpecificOutput": {"updatedInput": "ls"}})"}) {
    INFO(output);
    const auto read = answer(output);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == agent::Code::hook_failed);
  }
  CHECK_FALSE(answer("{}", 1));
  CHECK_FALSE(answer("", 127, "not found"));
}

TEST_CASE("hook: exit status 2 is a denial, its reason is stderr or the answer's", "[tools]") {
  CHECK(answer("", 2, " not now\n")->reason == "not now");
  CHECK(answer(R"({"reason": "said on stdout"})", 2)->reason == "said on stdout");
  CHECK(answer(R"({"decision": "allow"})", 2)->decision == Decision::deny);
  CHECK(answer("plain", 2)->decision == Decision::deny);
}

TEST_CASE("hook: changed arguments come back in errand's words", "[tools]") {
  const auto changed = [](std::string_view dialect, std::string_view output) {
    const auto read = answer(output, 0, "", dialect);
    REQUIRE(read);
    return agent::parse_json(read->arguments.value_or("null")).value();
  };
  CHECK(changed("claude", R"({"hookSpecificOutput": {"updatedInput": {"file_path": "/b"}}})") ==
        Json{{"path", "/b"}});
  CHECK(changed("gemini", R"({"hookSpecificOutput": {"tool_input": {"file_path": "/b"}}})") ==
        Json{{"path", "/b"}, {"content", "x"}});
  CHECK(changed("docker_agent", R"({"hook_specific_output": {"updated_input": {"path": "b"}}})") ==
        Json{{"path", "b"}});
  CHECK(changed("claude", "{}").is_null());
}

TEST_CASE("hook: what a script reads, in its dialect", "[tools]") {
  const Json claude = input("claude", before_a_call());
  CHECK(claude["hook_event_name"] == "PreToolUse");
  CHECK(claude["tool_name"] == "Write");
  CHECK(claude["tool_input"] == Json{{"file_path", "/srv/x/a.txt"}, {"content", "x"}});
  CHECK(claude["session_id"] == "r1");
  CHECK(claude["cwd"] == "/srv/x");
  CHECK(input("gemini", before_a_call())["hook_event_name"] == "BeforeTool");
  CHECK(input("docker_agent", before_a_call())["tool_input"]["path"] == "a.txt");

  agent::ToolCall shell{
      .id = "c2", .name = "shell", .arguments = R"({"command":"make","timeout":"2s"})"};
  const agent::HookContext of_shell{.point = HookPoint::pre_tool_use, .call = &shell};
  CHECK(input("claude", of_shell)["tool_input"] == Json{{"command", "make"}, {"timeout", 2000}});
  CHECK(input("docker_agent", of_shell)["tool_input"]["cmd"] == "make");

  const agent::ToolResult failed{.call_id = "c1",
                                 .name = "write_file",
                                 .content = "disk full",
                                 .status = agent::ToolStatus::failed,
                                 .message = "full"};
  const agent::HookContext after{
      .point = HookPoint::post_tool_use, .call = &k_call, .result = &failed};
  CHECK(input("claude", after)["tool_response"]["success"] == false);
  CHECK(input("claude", after)["tool_response"]["exit_code"].is_null());  // no program has ended
  for (const auto& [status, code] :
       {std::pair{std::optional<std::int64_t>(), 0}, {std::optional<std::int64_t>(3), 3}}) {
    const agent::ToolResult done{.call_id = "c1", .name = "shell", .exit_status = status};
    const agent::HookContext well{
        .point = HookPoint::post_tool_use, .call = &k_call, .result = &done};
    CHECK(input("claude", well)["tool_response"]["exit_code"] == code);
  }
  CHECK(input("gemini", after)["tool_response"]["error"]["message"] == "full");
  CHECK(input("docker_agent", after)["tool_response"] == "disk full");
  CHECK(input("docker_agent", after)["tool_error"] == true);

  const agent::HookContext stop{
      .point = HookPoint::stop, .prompt = "hi", .text = "bye", .again = true};
  CHECK(input("claude", stop)["stop_hook_active"] == true);
  CHECK(input("gemini", stop)["prompt_response"] == "bye");
  CHECK(input("docker_agent", stop)["last_user_message"] == "hi");
}

TEST_CASE("hook: text that is no JSON is context where the dialect says so", "[tools]") {
  const agent::HookContext start{.point = HookPoint::run_start, .text = "hi"};
  CHECK(answer("mind", 0, "", "claude", start)->context == "mind");
  CHECK(answer(R"(["mind"])", 0, "", "claude", start)->context == R"(["mind"])");
  CHECK(answer("mind", 0, "", "gemini", start)->context.empty());
  CHECK(answer("mind", 0, "", "claude", before_a_call())->context.empty());
}

TEST_CASE("hook: an answer that can mean two things is a hook that broke", "[tools]") {
  struct Row {
    std::string output;
    std::string why;
  };
  const std::string deny = R"({"decision": "deny"})";
  const auto row = GENERATE_COPY(values<Row>({
      {"\xEF\xBB\xBF" + deny, "byte 1 begins a byte order mark"},
      {std::string(1, '\0') + deny, "byte 1 is NUL"},
      {deny + std::string(1, '\0'), "byte 21 is NUL"},
      {"\xE2\x80\x8B" + deny, "byte 1 is not the `{` of a JSON object"},
      {"checking...\n" + deny, "the object at byte 13 stands behind other text"},
      {"[info] ok {\"hook_specific_output\": {}}", "the object at byte 11 stands behind"},
      {"\xFF\xFE{\0\"\0", "byte 1 (0xFF) is not UTF-8"},
      {R"({"reason": ")" + std::string("\xE4") + R"("})", "byte 13 (0xE4) is not UTF-8"},
      {deny + deny, "byte 21: `{\"decision\": \"deny\"}` follows the object"},
      {"{}\n" + deny, "byte 4: `{\"decision\": \"deny\"}` follows the object"},
      {deny + "\ndone", "byte 22: `done` follows the object"},
      {R"({"decision": "deny", "decision": "allow"})",
       "the key `decision` appears twice, the second time before byte 31"},
      {R"({"decision": "deny", "x": {"a": 1, "a": 1}})", "the key `a` appears twice"},
      {R"({"stopReason": "a", "stop_reason": "b"})", "are the same member"},
      {R"({"decision": "den)", "it ends in the middle of the object, at byte 17"},
      {R"({"decision": deny})", "it is not valid JSON at byte 14"},
      {R"({"decisions": "deny"})",
       "`decisions` is not a member of an answer; did you mean `decision`?"},
      {R"({"a\nerrand: ok": "deny"})", R"(`a\nerrand: ok` is not a member)"},
      {R"({"a\nb": 1, "a\nb": 2})", R"(the key `a\nb` appears twice)"},
      {R"({"decision": ""})", "there is no decision ``"},
      {R"({"hookSpecificOutput": {"permission": "deny"}})", "`permission` is not a member"},
      {R"({"hookSpecificOutput": {"llm_response": {}}})", "`llm_response` is not a member"},
      {R"({"hookSpecificOutput": {"updatedInput": {}, "tool_input": {"path": "b"}}})",
       "`tool_input` contradicts another member"},
      {R"(["deny"])", "it is JSON, but not an object"},
      {R"("deny")", "it is JSON, but not an object"},
      {"false\n", "it is JSON, but not an object"},
      {R"({"decision": "deny", "x": )" + std::string(300, '[') + std::string(300, ']') + "}",
       "nests deeper than 200 levels"},
  }));
  INFO(row.output);
  const auto read = answer(row.output);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == agent::Code::hook_failed);
  CHECK_THAT(read.error().message, Catch::Contains(row.why));
}

TEST_CASE("hook: plain text decides nothing", "[tools]") {
  for (const std::string_view output :
       {"12 tests {a, b} ran", "[info] ok", "deny", "see {\"a\": 1}", "\xE4hnlich", "--- {"}) {
    INFO(output);
    const auto read = answer(output);
    REQUIRE(read);
    CHECK(read->decision == Decision::none);
    CHECK_FALSE(read->stops);
  }
}

TEST_CASE("hook: what an observer writes has no shape to keep", "[tools]") {
  const agent::HookContext end{.point = HookPoint::notification};
  for (const std::string_view output :
       {R"({"id": 17, "ok": true})", "17", "sent {\"decision\": 1}", "[]"}) {
    INFO(output);
    CHECK(answer(output, 0, "", "claude", end, false));
    CHECK_FALSE(answer(output));
  }
  CHECK_FALSE(answer(R"({"id": )", 0, "", "claude", end, false));
}

TEST_CASE("hook: the start of a run that is carried on is called so", "[tools]") {
  const agent::HookContext start{.point = HookPoint::run_start, .text = "and now"};
  CHECK(input("claude", start).at("source") == "startup");
  CHECK(input("claude", start, true).at("source") == "resume");
}
