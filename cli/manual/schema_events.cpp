#include "cli/manual/schema_events.h"

#include "agent/error.h"
#include "agent/event.h"
#include "agent/hook_point.h"
#include "agent/message.h"
#include "agent/money.h"
#include "agent/outcome.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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

// Not one that must be there.
Json with_field(Json form, std::string_view key, Json field) {
  form["properties"][std::string(key)] = std::move(field);
  return form;
}

Json member() {
  Json form =
      object({{"member", type("string")},
              {"round", type("integer")},
              {"run_id", nullable("string")},
              {"taken_from", nullable("string")},
              {"status", {{"enum", {"ok", "failed", "stopped", "error", "cancelled", "skipped"}}}},
              {"exit_code", nullable("integer")},
              {"exit_name", nullable("string")},
              {"exit_status", nullable("integer")},
              {"error", nullable_reference("cause")},
              {"cost_usd", nullable("number")},
              {"turns", type("integer")},
              {"duration_ms", type("integer")}});
  return with_field(std::move(form), "missing_servers", list_of(type("string")));
}

// `members`: of a flow; `missing_servers`: of what went without MCP servers.
Json result() {
  Json form =
      with_field(object({{"schema", constant(agent::k_result_schema)},
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
                         {"usage_estimated", type("boolean")}}),
                 "members",
                 list_of(reference("member")));
  return with_field(std::move(form), "missing_servers", list_of(type("string")));
}

Json model_use() {
  return object({{"model", type("string")},
                 {"turns", type("integer")},
                 {"usage", reference("usage")},
                 {"cost_usd", nullable("number")},
                 {"usage_estimated", type("boolean")}});
}

Json cause() {
  Json schema = object({{"code", reference("code")}, {"message", type("string")}});
  schema["properties"]["help"] = type("string");  // where there is more to say than of the code
  return schema;
}

Json definitions() {
  return {{"code", error_codes()},
          {"cause", cause()},
          {"error", error()},
          {"fallback",
           object({{"from", type("string")},
                   {"to", type("string")},
                   {"reason", reference("code")},
                   {"count", {{"type", "integer"}, {"minimum", 1}}}})},
          {"stop", stop()},
          {"usage", usage({{"type", "integer"}, {"minimum", 0}})},
          {"reported_usage", usage(type("integer"))},
          {"model_use", model_use()},
          {"member", member()}};
}

template <typename Word>
Json words_up_to(Word last) {
  Json names = Json::array();
  for (int at = 0; at <= static_cast<int>(last); ++at) {
    names.push_back(to_string(static_cast<Word>(at)));
  }
  return Json{{"enum", std::move(names)}};
}

Json or_null(Json form) {
  if (!form.contains("type")) {
    return Json{{"anyOf", Json::array({std::move(form), type("null")})}};
  }
  form["type"] = Json::array({form["type"], "null"});
  return form;
}

// The form of an event, from its fields: agent/event.h.
class FieldSchema {
 public:
  explicit FieldSchema(Json& object) : object_(object) {}

  template <typename Value>
  void operator()(std::string_view key, const Value& value) {
    add(key, form(value));
  }
  void reported(std::string_view key, const agent::Usage&) {
    add(key, reference("reported_usage"));
  }
  void or_null(std::string_view key, const std::string&) { add(key, nullable("string")); }
  void word(std::string_view key, const std::string&, const auto& words) {
    add(key, Json{{"enum", words}});
  }
  // Those that are no JSON object are kept as the text that came.
  void arguments(std::string_view key, const std::string&) {
    add(key, Json{{"type", Json::array({"object", "string"})}});
  }
  void constant(std::string_view key, std::string_view text) { add(key, cli::constant(text)); }
  void group(std::string_view key, const auto& fields) {
    Json inner = object({});
    FieldSchema visitor(inner);
    fields(visitor);
    add(key, std::move(inner));
  }
  void kept(std::string_view, const auto&) {}  // no line of -o jsonl has it
  template <agent::HasFields Value>
  void members(const Value& value) {
    Value::fields(value, *this);
  }
  void members(const agent::SharedReply& reply) { members(*reply); }

 private:
  void add(std::string_view key, Json form) {
    object_["required"].push_back(key);
    object_["properties"][std::string(key)] = std::move(form);
  }

  static Json form(const std::string&) { return type("string"); }
  static Json form(bool) { return type("boolean"); }
  static Json form(std::integral auto) { return type("integer"); }
  static Json form(double) { return type("number"); }
  static Json form(std::chrono::milliseconds) { return type("integer"); }
  static Json form(agent::Money) { return type("number"); }
  static Json form(agent::Code) { return reference("code"); }
  static Json form(const agent::Usage&) { return reference("usage"); }
  static Json form(const agent::ModelUse&) { return reference("model_use"); }
  static Json form(const agent::Error&) { return reference("error"); }
  static Json form(const agent::RunResult&) { return reference("result"); }
  static Json form(agent::ModelDelta::Kind) {
    return words_up_to(agent::ModelDelta::Kind::reasoning);
  }
  static Json form(agent::StopReason) { return words_up_to(agent::StopReason::unknown); }
  static Json form(agent::ToolStatus) { return words_up_to(agent::ToolStatus::not_run); }
  static Json form(agent::Answer) { return words_up_to(agent::Answer::stop); }
  static Json form(agent::HookPoint) {
    return words_up_to(static_cast<agent::HookPoint>(agent::k_points - 1));
  }
  template <agent::HasFields Value>
  static Json form(const Value& value) {
    Json schema = object({});
    FieldSchema visitor(schema);
    Value::fields(value, visitor);
    return schema;
  }
  template <typename Value>
  static Json form(const std::optional<Value>&) {
    return cli::or_null(form(Value()));
  }
  template <typename Value>
  static Json form(const std::vector<Value>&) {
    return list_of(form(Value()));
  }

  Json& object_;
};

template <typename Body>
Json event() {
  Json schema = object({{"v", {{"const", 1}}},
                        {"run", type("string")},
                        {"seq", {{"type", "integer"}, {"minimum", 1}}},
                        {"ts", type("string")},
                        {"type", constant(Body::k_type)}});
  schema = with_field(std::move(schema), "parent", type("string"));  // of members of a flow
  FieldSchema(schema).members(Body());
  return schema;
}

template <typename... Bodies>
Json events(const std::variant<Bodies...>*) {
  return Json::array({event<Bodies>()...});
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
  schema["oneOf"] = events(static_cast<const agent::EventBody*>(nullptr));
  schema["definitions"] = definitions();
  schema["definitions"]["result"] = result();
  return schema;
}

}  // namespace cli
