#include "cli/manual/schema_events.h"

#include "agent/error.h"
#include "agent/event.h"
#include "agent/hook_point.h"
#include "agent/message.h"
#include "agent/outcome.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cli {
namespace {

using agent::Json;

constexpr std::string_view k_draft = "http://json-schema.org/draft-07/schema#";

Json type(std::string_view name) {
  return Json{{"type", name}};
}

Json nullable(std::string_view name) {
  return Json{{"type", Json::array({name, "null"})}};
}

Json reference(std::string_view definition) {
  return Json{{"$ref", "#/definitions/" + std::string(definition)}};
}

Json nullable_reference(std::string_view definition) {
  return Json{{"anyOf", Json::array({reference(definition), type("null")})}};
}

Json list_of(Json items) {
  return Json{{"type", "array"}, {"items", std::move(items)}};
}

Json constant(std::string_view value) {
  return Json{{"const", value}};
}

using Field = std::pair<std::string_view, Json>;

// An object whose fields are always there.
Json object(std::initializer_list<Field> fields) {
  Json schema = {{"type", "object"}, {"required", Json::array()}, {"properties", Json::object()}};
  for (const auto& [name, value] : fields) {
    schema["required"].push_back(name);
    schema["properties"][std::string(name)] = value;
  }
  return schema;
}

Json error_codes() {
  Json names = Json::array();
  for (const agent::CodeRow& row : agent::error_table()) {
    names.push_back(row.name);
  }
  return Json{{"enum", std::move(names)}};
}

Json exit_codes() {
  Json numbers = Json::array();
  for (const agent::ExitRow& row : agent::exit_table()) {
    numbers.push_back(row.exit_code);
  }
  return Json{{"enum", std::move(numbers)}};
}

Json exit_names() {
  Json names = Json::array();
  for (const agent::ExitRow& row : agent::exit_table()) {
    names.push_back(row.name);
  }
  return Json{{"enum", std::move(names)}};
}

Json usage(const Json& count) {
  return object({{"input", count},
                 {"output", count},
                 {"cache_read", count},
                 {"cache_write", count},
                 {"cache_write_1h", count},
                 {"reasoning", count}});
}

Json error() {
  return object({{"code", reference("code")},
                 {"message", type("string")},
                 {"help", type("string")},
                 {"retryable", type("boolean")},
                 {"retry_after_s", nullable("number")},
                 {"http_status", nullable("integer")},
                 {"provider", nullable("string")},
                 {"model", nullable("string")},
                 {"request_id", nullable("string")},
                 {"file", nullable("string")},
                 {"line", nullable("integer")},
                 {"column", nullable("integer")},
                 {"attempts", nullable("integer")},
                 {"cause", nullable_reference("cause")}});
}

Json stop() {
  return object({{"reason", type("string")},
                 {"limit", nullable("string")},
                 {"used", type("number")},
                 {"max", type("number")},
                 {"config_path", nullable("string")},
                 {"detail", nullable("string")}});
}

Json result() {
  return object({{"schema", constant(agent::k_result_schema)},
                 {"status", {{"enum", {"ok", "failed", "stopped", "error", "cancelled"}}}},
                 {"exit_code", exit_codes()},
                 {"exit_name", exit_names()},
                 {"text", type("string")},
                 {"output", Json::object()},
                 {"partial", type("boolean")},
                 {"stop", nullable_reference("stop")},
                 {"error", nullable_reference("error")},
                 {"usage", reference("usage")},
                 {"cost_usd", nullable("number")},
                 {"turns", type("integer")},
                 {"tool_calls", type("integer")},
                 {"denials", type("integer")},
                 {"model", nullable("string")},
                 {"fallbacks", list_of(reference("fallback"))},
                 {"over_budget", type("boolean")},
                 {"run_id", nullable("string")},
                 {"resume_cmd", nullable("string")},
                 {"trace_id", nullable("string")},
                 {"duration_ms", type("integer")},
                 {"models", list_of(reference("model_use"))},
                 {"usage_estimated", type("boolean")}});
}

Json model_use() {
  return object({{"model", type("string")},
                 {"turns", type("integer")},
                 {"usage", reference("usage")},
                 {"cost_usd", nullable("number")},
                 {"usage_estimated", type("boolean")}});
}

Json definitions() {
  return {{"code", error_codes()},
          {"cause", object({{"code", reference("code")}, {"message", type("string")}})},
          {"error", error()},
          {"fallback",
           object({{"from", type("string")},
                   {"to", type("string")},
                   {"reason", reference("code")},
                   {"count", {{"type", "integer"}, {"minimum", 1}}}})},
          {"stop", stop()},
          {"usage", usage({{"type", "integer"}, {"minimum", 0}})},
          {"reported_usage", usage(type("integer"))},
          {"model_use", model_use()}};
}

// Arguments that are no JSON object are kept as the text that came.
Json arguments() {
  return Json{{"type", Json::array({"object", "string"})}};
}

Json event(std::string_view name, std::initializer_list<Field> fields) {
  Json schema = object({{"v", {{"const", 1}}},
                        {"run", type("string")},
                        {"seq", {{"type", "integer"}, {"minimum", 1}}},
                        {"ts", type("string")},
                        {"type", constant(name)}});
  for (const auto& [field, value] : fields) {
    schema["required"].push_back(field);
    schema["properties"][std::string(field)] = value;
  }
  return schema;
}

Json stop_reasons() {
  Json names = Json::array();
  for (int at = 0; at <= static_cast<int>(agent::StopReason::unknown); ++at) {
    names.push_back(agent::to_string(static_cast<agent::StopReason>(at)));
  }
  return Json{{"enum", std::move(names)}};
}

Json tool_statuses() {
  Json names = Json::array();
  for (int at = 0; at <= static_cast<int>(agent::ToolStatus::not_run); ++at) {
    names.push_back(agent::to_string(static_cast<agent::ToolStatus>(at)));
  }
  return Json{{"enum", std::move(names)}};
}

Json answers() {
  Json names = Json::array();
  for (int at = 0; at < static_cast<int>(agent::Answer::nobody); ++at) {
    names.push_back(agent::to_string(static_cast<agent::Answer>(at)));
  }
  return Json{{"enum", std::move(names)}};
}

Json points() {
  Json names = Json::array();
  for (std::size_t at = 0; at < agent::k_points; ++at) {
    names.push_back(agent::to_string(static_cast<agent::HookPoint>(at)));
  }
  return Json{{"enum", std::move(names)}};
}

Json gate_events() {
  return Json::array({
      event("hook.ran",
            {{"turn", type("integer")},
             {"point", points()},
             {"hook", type("string")},
             {"call_id", type("string")},
             {"outcome",
              {{"enum", {"ok", "changed", "allowed", "asked", "denied", "stopped", "failed"}}}},
             {"reason", type("string")},
             {"message", type("string")},
             {"exit_status", nullable("integer")},
             {"duration_ms", type("integer")}}),
      event("guardrail.ran",
            {{"turn", type("integer")},
             {"point", points()},
             {"guardrail", type("string")},
             {"call_id", type("string")},
             {"action", {{"enum", {"allow", "warn", "redact", "deny", "kill"}}}},
             {"reason", type("string")},
             {"judge", nullable_reference("model_use")},
             {"text", nullable("string")}}),
  });
}

Json model_events() {
  const Json turn = type("integer");
  const Json call = object({{"id", type("string")},
                            {"name", type("string")},
                            {"arguments", arguments()},
                            {"arguments_sha256", type("string")}});
  return Json::array({
      event("model.requested",
            {{"turn", turn},
             {"model", type("string")},
             {"messages", type("integer")},
             {"estimated_input", type("integer")},
             {"max_output_tokens", nullable("integer")}}),
      event("model.delta", {{"kind", {{"enum", {"text", "reasoning"}}}}, {"text", type("string")}}),
      event("model.broken",
            {{"usage", reference("usage")},
             {"estimated", nullable_reference("usage")},
             {"cost_usd", nullable("number")}}),
      event("model.reset", {{"reason", type("string")}}),
      event("model.retrying",
            {{"attempt", type("integer")},
             {"max_attempts", type("integer")},
             {"delay_ms", type("integer")},
             {"error", reference("error")}}),
      event("model.fallback",
            {{"from", type("string")},
             {"to", type("string")},
             {"skipped", type("boolean")},
             {"cooldown_ms", type("integer")},
             {"error", reference("error")}}),
      event("model.responded",
            {{"turn", turn},
             {"text", type("string")},
             {"reasoning", type("string")},
             {"tool_calls", list_of(call)},
             {"stop_reason", stop_reasons()},
             {"stop_reason_raw", type("string")},
             {"usage", reference("reported_usage")},
             {"estimated", nullable_reference("usage")},
             {"cost_usd", nullable("number")},
             {"model", type("string")},
             {"request_id", type("string")},
             {"protocol", type("string")},
             {"origin", type("string")},
             {"raw", type("string")},
             {"duration_ms", type("integer")}}),
  });
}

Json tool_events() {
  return Json::array({
      event("tool.started",
            {{"turn", type("integer")},
             {"call_id", type("string")},
             {"name", type("string")},
             {"arguments", arguments()},
             {"arguments_sha256", type("string")}}),
      event("tool.output", {{"call_id", type("string")}, {"text", type("string")}}),
      event("tool.finished",
            {{"turn", type("integer")},
             {"call_id", type("string")},
             {"name", type("string")},
             {"status", tool_statuses()},
             {"code", nullable_reference("code")},
             {"message", type("string")},
             {"help", type("string")},
             {"content", type("string")},
             {"exit_status", type("integer")},
             {"truncated", type("boolean")},
             {"full_output", nullable("string")},
             {"fatal", type("boolean")},
             {"task_failed", type("boolean")},
             {"duration_ms", type("integer")}}),
      event("approval.requested",
            {{"turn", type("integer")},
             {"call_id", type("string")},
             {"name", type("string")},
             {"arguments", arguments()},
             {"arguments_sha256", type("string")},
             {"reason", type("string")},
             {"rule", type("string")}}),
      event("approval.answered",
            {{"call_id", type("string")}, {"answer", answers()}, {"by", type("string")}}),
  });
}

Json run_events() {
  const Json agent = object({{"name", type("string")}, {"file", type("string")}});
  const Json sandbox = object({{"mode", type("string")},
                               {"network", type("string")},
                               {"hosts", list_of(type("string"))},
                               {"layers", list_of(type("string"))},
                               {"missing", list_of(type("string"))}});
  return Json::array({
      event("run.started",
            {{"schema", constant(agent::k_event_schema)},
             {"version", type("string")},
             {"agent", agent},
             {"model", type("string")},
             {"cwd", type("string")},
             {"instructions", type("string")},
             {"prompt", type("string")},
             {"attachments",
              list_of(object({{"name", type("string")},
                              {"media_type", type("string")},
                              {"base64", type("string")}}))},
             {"tools", list_of(type("string"))},
             {"sandbox", sandbox}}),
      event("turn.started", {{"turn", type("integer")}}),
      event("user.said", {{"text", type("string")}, {"reason", type("string")}}),
      event("limit.warning",
            {{"limit", type("string")}, {"used", type("number")}, {"max", type("number")}}),
      event("warning",
            {{"message", type("string")}, {"help", type("string")}, {"kind", nullable("string")}}),
      event("run.finished", {{"result", reference("result")}}),
  });
}

Json document(std::string_view title, std::string_view description) {
  return {{"$schema", k_draft}, {"title", title}, {"description", description}};
}

}  // namespace

Json result_schema() {
  Json schema = document(agent::k_result_schema, "The result object of a run, on every ending.");
  schema.update(result());
  schema["definitions"] = definitions();
  return schema;
}

Json events_schema() {
  Json schema = document(agent::k_event_schema, "One event of a run: one line of -o jsonl.");
  schema["oneOf"] = Json::array();
  for (const Json& group : {run_events(), model_events(), tool_events(), gate_events()}) {
    for (const Json& one : group) {
      schema["oneOf"].push_back(one);
    }
  }
  schema["definitions"] = definitions();
  schema["definitions"]["result"] = result();
  return schema;
}

}  // namespace cli
