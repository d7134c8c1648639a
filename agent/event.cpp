#include "agent/event.h"

#include "agent/duration.h"
#include "agent/json_text.h"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace agent {
namespace {

// The names of the alternatives of EventBody, in its order.
constexpr auto k_names = std::to_array<std::string_view>(
    {"run.started",     "turn.started",       "model.requested",   "model.delta",
     "model.broken",    "model.reset",        "model.retrying",    "model.fallback",
     "model.responded", "user.said",          "tool.started",      "tool.output",
     "tool.finished",   "approval.requested", "approval.answered", "hook.ran",
     "guardrail.ran",   "limit.warning",      "warning",           "run.finished"});
static_assert(k_names.size() == std::variant_size_v<EventBody>);

// Arguments are shown as the object that they are, or as the text that came; null: none came.
Json arguments_json(const std::string& arguments) {
  if (arguments.empty()) {
    return nullptr;
  }
  auto parsed = parse_json(arguments);
  return parsed && parsed->is_object() ? std::move(*parsed) : Json(arguments);
}

std::string arguments_text(const Json& json) {
  const Json* arguments = find(json, "arguments");
  if (arguments == nullptr) {
    return {};
  }
  return arguments->is_string() ? arguments->get<std::string>() : dump(*arguments);
}

template <typename Place>
void write(Place& json, const RunStarted& body) {
  json["schema"] = k_event_schema;
  json["version"] = body.version;
  json["agent"] = {{"name", body.agent_name}, {"file", body.agent_file}};
  json["model"] = body.model;
  json["cwd"] = body.cwd;
  json["instructions"] = body.instructions;
  json["prompt"] = body.prompt;
  write_list(json["attachments"], body.attachments, [](auto&& item, const Attachment& attachment) {
    item["name"] = attachment.name;
    item["media_type"] = attachment.media_type;
    item["base64"] = attachment.base64;
  });
  json["tools"] = body.tools;
  json["sandbox"] = {{"mode", body.sandbox.mode},
                     {"network", body.sandbox.network},
                     {"hosts", body.sandbox.hosts},
                     {"layers", body.sandbox.layers},
                     {"missing", body.sandbox.missing}};
}

template <typename Place>
void write(Place& json, const TurnStarted& body) {
  json["turn"] = body.turn;
}

template <typename Place>
void write(Place& json, const ModelRequested& body) {
  json["turn"] = body.turn;
  json["model"] = body.model;
  json["messages"] = body.messages;
  json["estimated_input"] = body.estimated_input;
  json["max_output_tokens"] =
      body.max_output_tokens ? Json(*body.max_output_tokens) : Json(nullptr);
}

template <typename Place>
void write(Place& json, const ModelDelta& body) {
  json["kind"] = body.kind == ModelDelta::Kind::text ? "text" : "reasoning";
  json["text"] = body.text;
}

template <typename Place>
void write(Place& json, const ModelBroken& body) {
  json["usage"] = to_json(body.usage);
  json["estimated"] = body.estimated ? to_json(*body.estimated) : Json(nullptr);
  json["cost_usd"] = to_json(body.cost);
}

template <typename Place>
void write(Place& json, const ModelReset& body) {
  json["reason"] = body.reason;
}

template <typename Place>
void write(Place& json, const ModelRetrying& body) {
  json["attempt"] = body.attempt;
  json["max_attempts"] = body.max_attempts;
  json["delay_ms"] = body.delay.count();
  json["error"] = to_json(body.error);
}

template <typename Place>
void write(Place& json, const ModelFallback& body) {
  json["from"] = body.from;
  json["to"] = body.to;
  json["skipped"] = body.skipped;
  json["cooldown_ms"] = body.cooldown.count();
  json["error"] = to_json(body.error);
}

template <typename Place>
void write(Place& json, const ModelResponded& body) {
  const Reply& reply = *body.reply;
  json["turn"] = body.turn;
  json["text"] = reply.text;
  json["reasoning"] = reply.reasoning;
  write_list(json["tool_calls"], reply.tool_calls, [](auto&& item, const ToolCall& call) {
    item["id"] = call.id;
    item["name"] = call.name;
    item["arguments"] = arguments_json(call.arguments);
    item["arguments_sha256"] = call.arguments_sha256;
  });
  json["stop_reason"] = to_string(reply.stop_reason);
  json["stop_reason_raw"] = reply.stop_reason_raw;
  json["usage"] = to_json(reply.usage);
  json["estimated"] = reply.estimated ? to_json(*reply.estimated) : Json(nullptr);
  json["cost_usd"] = to_json(reply.cost);
  json["model"] = reply.model;
  json["request_id"] = reply.request_id;
  json["protocol"] = reply.protocol;
  json["origin"] = reply.origin;
  json["raw"] = reply.raw;
  json["duration_ms"] = body.duration_ms;
}

template <typename Place>
void write(Place& json, const UserSaid& body) {
  json["text"] = body.text;
  json["reason"] = body.reason;
}

template <typename Place>
void write(Place& json, const ToolStarted& body) {
  json["turn"] = body.turn;
  json["call_id"] = body.call_id;
  json["name"] = body.name;
  json["arguments"] = arguments_json(body.arguments);
  json["arguments_sha256"] = body.arguments_sha256;
}

template <typename Place>
void write(Place& json, const ToolOutput& body) {
  json["call_id"] = body.call_id;
  json["text"] = body.text;
}

template <typename Place>
void write(Place& json, const ToolFinished& body) {
  const ToolResult& result = body.result;
  json["turn"] = body.turn;
  json["call_id"] = result.call_id;
  json["name"] = result.name;
  json["status"] = to_string(result.status);
  json["code"] = result.code ? Json(row(*result.code).name) : Json(nullptr);
  json["message"] = result.message;
  json["help"] = result.help;
  json["content"] = result.content;
  json["exit_status"] = result.exit_status;
  json["truncated"] = result.truncated;
  json["full_output"] = result.full_output.empty() ? Json(nullptr) : Json(result.full_output);
  json["fatal"] = result.fatal;
  json["task_failed"] = result.task_failed;
  json["duration_ms"] = result.duration_ms;
}

template <typename Place>
void write(Place& json, const ApprovalRequested& body) {
  const ApprovalRequest& request = body.request;
  json["turn"] = body.turn;
  json["call_id"] = request.call.id;
  json["name"] = request.call.name;
  json["arguments"] = arguments_json(request.call.arguments);
  json["arguments_sha256"] = request.call.arguments_sha256;
  json["reason"] = request.reason;
  json["rule"] = request.rule;
}

template <typename Place>
void write(Place& json, const ApprovalAnswered& body) {
  json["call_id"] = body.call_id;
  json["answer"] = to_string(body.answer);
  json["by"] = body.by;
}

template <typename Place>
void write(Place& json, const HookRan& body) {
  json["turn"] = body.turn;
  json["point"] = to_string(body.point);
  json["hook"] = body.hook;
  json["call_id"] = body.call_id;
  json["outcome"] = body.outcome;
  json["reason"] = body.reason;
  json["message"] = body.message;
  json["exit_status"] = body.exit_status ? Json(*body.exit_status) : Json(nullptr);
  json["duration_ms"] = body.duration_ms;
}

template <typename Place>
void write(Place& json, const GuardrailRan& body) {
  json["turn"] = body.turn;
  json["point"] = to_string(body.point);
  json["guardrail"] = body.guardrail;
  json["call_id"] = body.call_id;
  json["action"] = body.action;
  json["reason"] = body.reason;
  json["judge"] = body.judge ? to_json(*body.judge) : Json(nullptr);
  json["text"] = body.text ? Json(*body.text) : Json(nullptr);
}

template <typename Place>
void write(Place& json, const LimitWarning& body) {
  json["limit"] = body.limit;
  json["used"] = number_json(body.used);
  json["max"] = number_json(body.max);
}

template <typename Place>
void write(Place& json, const Warning& body) {
  json["message"] = body.message;
  json["help"] = body.help;
  json["kind"] = body.kind.empty() ? Json(nullptr) : Json(body.kind);
}

template <typename Place>
void write(Place& json, const RunFinished& body) {
  write(json["result"], body.result);
}

std::string text(const Json& json, std::string_view key) {
  return std::string(text_at(json, key));
}

std::vector<std::string> texts(const Json& json, std::string_view key) {
  std::vector<std::string> all;
  if (const Json* list = find(json, key)) {
    for (const Json& item : *list) {
      if (item.is_string()) {
        all.push_back(item.get<std::string>());
      }
    }
  }
  return all;
}

void read(const Json& json, RunStarted& body) {
  body.version = text(json, "version");
  if (const Json* agent = find(json, "agent")) {
    body.agent_name = text(*agent, "name");
    body.agent_file = text(*agent, "file");
  }
  body.model = text(json, "model");
  body.cwd = text(json, "cwd");
  body.instructions = text(json, "instructions");
  body.prompt = text(json, "prompt");
  if (const Json* attachments = find(json, "attachments")) {
    for (const Json& attachment : *attachments) {
      body.attachments.push_back({.name = text(attachment, "name"),
                                  .media_type = text(attachment, "media_type"),
                                  .base64 = text(attachment, "base64")});
    }
  }
  body.tools = texts(json, "tools");
  if (const Json* sandbox = find(json, "sandbox")) {
    body.sandbox = {.mode = text(*sandbox, "mode"),
                    .network = text(*sandbox, "network"),
                    .hosts = texts(*sandbox, "hosts"),
                    .layers = texts(*sandbox, "layers"),
                    .missing = texts(*sandbox, "missing")};
  }
}

void read(const Json& json, TurnStarted& body) {
  body.turn = integer_at(json, "turn");
}

void read(const Json& json, ModelRequested& body) {
  body.turn = integer_at(json, "turn");
  body.model = text(json, "model");
  body.messages = integer_at(json, "messages");
  body.estimated_input = integer_at(json, "estimated_input");
  if (find(json, "max_output_tokens") != nullptr) {
    body.max_output_tokens = integer_at(json, "max_output_tokens");
  }
}

void read(const Json& json, ModelDelta& body) {
  body.kind =
      text_at(json, "kind") == "text" ? ModelDelta::Kind::text : ModelDelta::Kind::reasoning;
  body.text = text(json, "text");
}

void read(const Json& json, ModelBroken& body) {
  if (const Json* usage = find(json, "usage")) {
    body.usage = usage_from_json(*usage);
  }
  if (const Json* estimated = find(json, "estimated")) {
    body.estimated = usage_from_json(*estimated);
  }
  body.cost = money_at(json, "cost_usd");
}

void read(const Json& json, ModelReset& body) {
  body.reason = text(json, "reason");
}

void read(const Json& json, ModelRetrying& body) {
  body.attempt = static_cast<int>(integer_at(json, "attempt"));
  body.max_attempts = static_cast<int>(integer_at(json, "max_attempts"));
  body.delay = std::chrono::milliseconds(integer_at(json, "delay_ms"));
  if (const Json* error = find(json, "error")) {
    body.error = error_from_json(*error);
  }
}

void read(const Json& json, ModelFallback& body) {
  body.from = text(json, "from");
  body.to = text(json, "to");
  body.skipped = bool_at(json, "skipped");
  body.cooldown = std::chrono::milliseconds(integer_at(json, "cooldown_ms"));
  if (const Json* error = find(json, "error")) {
    body.error = error_from_json(*error);
  }
}

void read(const Json& json, ModelResponded& body) {
  Reply reply;
  body.turn = integer_at(json, "turn");
  reply.text = text(json, "text");
  reply.reasoning = text(json, "reasoning");
  if (const Json* calls = find(json, "tool_calls")) {
    for (const Json& call : *calls) {
      reply.tool_calls.push_back({.id = text(call, "id"),
                                  .name = text(call, "name"),
                                  .arguments = arguments_text(call),
                                  .arguments_sha256 = text(call, "arguments_sha256")});
    }
  }
  reply.stop_reason = stop_reason_from(text_at(json, "stop_reason"));
  reply.stop_reason_raw = text(json, "stop_reason_raw");
  if (const Json* usage = find(json, "usage")) {
    reply.usage = usage_from_json(*usage);
  }
  if (const Json* estimated = find(json, "estimated")) {
    reply.estimated = usage_from_json(*estimated);
  }
  reply.cost = money_at(json, "cost_usd");
  reply.model = text(json, "model");
  reply.request_id = text(json, "request_id");
  reply.protocol = text(json, "protocol");
  reply.origin = text(json, "origin");
  reply.raw = text(json, "raw");
  body.reply = std::move(reply);
  body.duration_ms = integer_at(json, "duration_ms");
}

void read(const Json& json, UserSaid& body) {
  body.text = text(json, "text");
  body.reason = text(json, "reason");
}

void read(const Json& json, ToolStarted& body) {
  body.turn = integer_at(json, "turn");
  body.call_id = text(json, "call_id");
  body.name = text(json, "name");
  body.arguments = arguments_text(json);
  body.arguments_sha256 = text(json, "arguments_sha256");
}

void read(const Json& json, ToolOutput& body) {
  body.call_id = text(json, "call_id");
  body.text = text(json, "text");
}

void read(const Json& json, ToolFinished& body) {
  ToolResult& result = body.result;
  body.turn = integer_at(json, "turn");
  result.call_id = text(json, "call_id");
  result.name = text(json, "name");
  result.status = tool_status_from(text_at(json, "status"));
  result.code = code_from_name(text_at(json, "code"));
  result.message = text(json, "message");
  result.help = text(json, "help");
  result.content = text(json, "content");
  result.exit_status = integer_at(json, "exit_status");
  result.truncated = bool_at(json, "truncated");
  result.full_output = text(json, "full_output");
  result.fatal = bool_at(json, "fatal");
  result.task_failed = bool_at(json, "task_failed");
  result.duration_ms = integer_at(json, "duration_ms");
}

void read(const Json& json, ApprovalRequested& body) {
  body.turn = integer_at(json, "turn");
  body.request.call = {.id = text(json, "call_id"),
                       .name = text(json, "name"),
                       .arguments = arguments_text(json),
                       .arguments_sha256 = text(json, "arguments_sha256")};
  body.request.reason = text(json, "reason");
  body.request.rule = text(json, "rule");
}

void read(const Json& json, ApprovalAnswered& body) {
  body.call_id = text(json, "call_id");
  body.answer = answer_from(text_at(json, "answer"));
  body.by = text(json, "by");
}

void read(const Json& json, HookRan& body) {
  body.turn = integer_at(json, "turn");
  body.point = point_from(text_at(json, "point")).value_or(body.point);
  body.hook = text(json, "hook");
  body.call_id = text(json, "call_id");
  body.outcome = text(json, "outcome");
  body.reason = text(json, "reason");
  body.message = text(json, "message");
  if (const Json* status = find(json, "exit_status"); status != nullptr && is_number(*status)) {
    body.exit_status = integer_at(json, "exit_status");
  }
  body.duration_ms = integer_at(json, "duration_ms");
}

void read(const Json& json, GuardrailRan& body) {
  body.turn = integer_at(json, "turn");
  body.point = point_from(text_at(json, "point")).value_or(body.point);
  body.guardrail = text(json, "guardrail");
  body.call_id = text(json, "call_id");
  body.action = text(json, "action");
  body.reason = text(json, "reason");
  if (const Json* judge = find(json, "judge"); judge != nullptr && judge->is_object()) {
    body.judge = model_use_from_json(*judge);
  }
  if (const Json* text = find(json, "text"); text != nullptr && text->is_string()) {
    body.text = text->get<std::string>();
  }
}

void read(const Json& json, LimitWarning& body) {
  body.limit = text(json, "limit");
  body.used = real_at(json, "used");
  body.max = real_at(json, "max");
}

void read(const Json& json, Warning& body) {
  body.message = text(json, "message");
  body.help = text(json, "help");
  body.kind = text(json, "kind");
}

void read(const Json& json, RunFinished& body) {
  if (const Json* result = find(json, "result")) {
    body.result = result_from_json(*result);
  }
}

// The alternative of that type name, read from `json`; false where no alternative has the name.
template <std::size_t index = 0>
bool read_body(std::string_view type, const Json& json, EventBody& body) {
  if constexpr (index == std::variant_size_v<EventBody>) {
    return false;
  } else {
    if (k_names[index] != type) {
      return read_body<index + 1>(type, json, body);
    }
    std::variant_alternative_t<index, EventBody> alternative;
    read(json, alternative);
    body = std::move(alternative);
    return true;
  }
}

}  // namespace

std::string_view type_name(const EventBody& body) {
  return k_names[body.index()];
}

bool is_journaled(const EventBody& body) {
  return !std::holds_alternative<ModelDelta>(body) && !std::holds_alternative<ToolOutput>(body);
}

namespace {

template <typename Place>
void write(Place& json, const Event& event) {
  json["v"] = 1;
  json["run"] = event.run_id;
  json["seq"] = event.seq;
  json["ts"] = format_time(event.time);
  json["type"] = type_name(event.body);
  std::visit([&](const auto& body) { write(json, body); }, event.body);
}

}  // namespace

Json to_json(const Event& event) {
  Json json;
  write(json, event);
  return json;
}

std::string dump(const Event& event) {
  std::string text;
  {
    JsonText place(text);
    write(place, event);
  }
  return text;
}

Result<Event> event_from_json(const Json& json) {
  Event event;
  const auto time = parse_time(text_at(json, "ts"));
  event.run_id = text(json, "run");
  event.seq = integer_at(json, "seq");
  if (!time || event.run_id.empty() || event.seq < 1 ||
      !read_body(text_at(json, "type"), json, event.body)) {
    return fail(Code::storage_corrupt, "not an event: " + dump(json).substr(0, 80));
  }
  event.time = *time;
  return event;
}

}  // namespace agent
