#include "agent/outcome.h"

#include "agent/json_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace agent {
namespace {

constexpr auto k_exits = std::to_array<ExitRow>({
    // clang-format off
    {0, "ok", Status::ok, "", "a final answer, output valid, checks passed", "-", "-"},
    {1, "task_failed", Status::failed, "", "the agent finished and itself says that the task failed", "no", "yes"},
    {2, "usage", Status::error, "", "bad flag, argument or combination; nothing was sent", "no", "-"},
    {65, "invalid_request", Status::error, "", "the provider refused the request: 400, 413, 422, a 4xx that no other row names", "no", "no"},
    {66, "no_input", Status::error, "", "empty prompt, empty stdin, missing prompt file", "no", "-"},
    {69, "helper_unavailable", Status::error, "", "a required MCP server, remote agent, channel or helper program failed to start or died", "maybe", "yes"},
    {70, "internal", Status::error, "", "an invariant broke; the message asks for a report", "no", "maybe"},
    {71, "os_error", Status::error, "", "fork, exec, memory, descriptors", "maybe", "yes"},
    {73, "cant_create", Status::error, "", "an output, log or record file cannot be created", "no", "-"},
    {74, "storage", Status::error, "", "session store, journal or stdout write failed (not EPIPE)", "no", "no"},
    {75, "provider_unavailable", Status::error, "", "a retryable failure that outlived every retry: 408, 425, 429, 5xx, 529, network, stream cut, stall, open circuit", "yes", "yes"},
    {76, "protocol", Status::error, "", "provider or MCP server sent what its protocol forbids", "maybe", "yes"},
    {77, "auth", Status::error, "", "401, 403, expired key; a key variable that is unset or empty; `model: auto` without a key", "no", "yes"},
    {78, "config", Status::error, "", "agent file or config: syntax, unknown key, type, range, unset variable, unknown tool, cycle; TLS set-up", "no", "-"},
    {80, "max_turns", Status::stopped, "limits.max_turns", "limits.max_turns", "no", "yes"},
    {81, "token_budget", Status::stopped, "limits.max_total_tokens", "limits.max_total_tokens", "no", "yes"},
    {82, "cost_budget", Status::stopped, "limits.max_cost_usd", "limits.max_cost_usd, spent, or the next request's input alone would exceed it", "no", "yes"},
    {83, "tool_call_limit", Status::stopped, "limits.max_tool_calls", "limits.max_tool_calls", "no", "yes"},
    {84, "context_overflow", Status::stopped, "", "the conversation no longer fits, compaction off or not enough", "no", "yes"},
    {85, "truncated", Status::failed, "", "the answer was cut by the output-token limit after the allowed continuations", "no", "yes"},
    {86, "loop_detected", Status::stopped, "limits.max_repeat_calls", "same call, same result, over and over", "no", "yes"},
    {87, "handoff_limit", Status::stopped, "limits.max_handoffs", "more hand-overs between agents than allowed", "no", "yes"},
    {90, "hook_terminated", Status::stopped, "", "a hook said stop, or a guarding hook broke", "no", "yes"},
    {91, "guardrail_denied", Status::stopped, "", "an input, output or tool guardrail refused", "no", "maybe"},
    {92, "approval_required", Status::stopped, "permissions.allow", "a call needs a human's approval and no human is there", "no", "yes"},
    {93, "sandbox", Status::stopped, "", "the sandbox cannot be set up, or a violation that is configured as fatal", "no", "yes"},
    {94, "user_declined", Status::stopped, "", "the human said \"stop\" at a prompt (not Ctrl-C)", "no", "yes"},
    {95, "model_refused", Status::stopped, "", "refusal or content filter", "no", "fork"},
    {96, "kill_switch", Status::stopped, "", "kill switch: kill file, or a guardrail's kill", "no", "yes"},
    {97, "signal_timeout", Status::stopped, "approval.deadline", "a parked run waited longer for an outside answer than allowed", "no", "yes"},
    {98, "lease_lost", Status::error, "", "another worker owns this run now; this one stopped without acting", "no", "-"},
    {102, "model_not_found", Status::error, "", "unknown or retired model; a 403 whose code names the model", "no", "yes"},
    {103, "quota_exhausted", Status::error, "", "billing, credits, spend limit: 402, and 429 where the body says so", "no", "yes"},
    {104, "unsupported", Status::error, "", "model or provider lacks tools, schema, modality", "no", "-"},
    {110, "tool_fatal", Status::error, "", "a tool declared fatal failed", "no", "yes"},
    {111, "output_invalid", Status::failed, "", "structured output still invalid after the allowed repairs", "maybe", "yes"},
    {112, "no_result", Status::failed, "", "the run ended with neither structured output nor text that can be seen", "maybe", "yes"},
    {113, "checks_failed", Status::failed, "", "`checks` still fail after `attempts`", "no", "yes"},
    {114, "subagent_failed", Status::failed, "", "a sub-agent failed in a way its parent could not handle", "see cause", "yes"},
    {119, "replay_miss", Status::error, "", "a replay holds no reply for a request", "no", "-"},
    {124, "timeout", Status::stopped, "limits.timeout", "limits.timeout or --timeout", "maybe", "yes"},
    {129, "sighup", Status::cancelled, "", "SIGHUP: result written, children reaped, signal raised again", "-", "yes"},
    {130, "sigint", Status::cancelled, "", "SIGINT (Ctrl-C): result written, children reaped, signal raised again", "-", "yes"},
    {141, "sigpipe", Status::cancelled, "", "SIGPIPE: the reader of stdout went away; children reaped, signal raised again", "-", "yes"},
    {143, "sigterm", Status::cancelled, "", "SIGTERM: result written, children reaped, signal raised again", "-", "yes"},
    // clang-format on
});

Json json_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json json_or_null(int number) {
  return number == 0 ? Json(nullptr) : Json(number);
}

Json to_json(const Stop& stop) {
  return {{"reason", stop.reason},
          {"limit", json_or_null(stop.limit)},
          {"used", number_json(stop.used)},
          {"max", number_json(stop.max)},
          {"config_path", json_or_null(stop.config_path)},
          {"detail", json_or_null(stop.detail)}};
}

Json to_json(const std::vector<ModelUse>& models) {
  Json list = Json::array();
  for (const ModelUse& use : models) {
    list.push_back(to_json(use));
  }
  return list;
}

Json to_json(const Cause& cause) {
  Json json{{"code", row(cause.code).name}, {"message", cause.message}};
  if (!cause.help.empty()) {
    json["help"] = cause.help;
  }
  return json;
}

std::optional<Cause> cause_in(const Json& json, std::string_view key) {
  const Json* const cause = find(json, key);
  return cause == nullptr
             ? std::nullopt
             : std::optional(
                   Cause{.code = code_from_name(text_at(*cause, "code")).value_or(Code::internal),
                         .message = std::string(text_at(*cause, "message")),
                         .help = std::string(text_at(*cause, "help"))});
}

Json to_json(const std::vector<MemberResult>& members) {
  Json list = Json::array();
  for (const MemberResult& one : members) {
    const auto name = one.exit_code ? Json(exit_row(*one.exit_code).name) : Json(nullptr);
    Json& json = list.emplace_back(
        Json{{"member", one.member},
             {"round", one.round},
             {"run_id", json_or_null(one.run_id)},
             {"taken_from", json_or_null(one.taken_from)},
             {"status", one.exit_code ? to_string(status_of(*one.exit_code)) : "skipped"},
             {"exit_code", one.exit_code ? Json(*one.exit_code) : Json(nullptr)},
             {"exit_name", name},
             {"exit_status", one.exit_status ? Json(*one.exit_status) : Json(nullptr)},
             {"error", one.error ? to_json(*one.error) : Json(nullptr)},
             {"cost_usd", to_json(one.cost)},
             {"turns", one.turns},
             {"duration_ms", one.duration_ms}});
    if (!one.missing_servers.empty()) {
      json["missing_servers"] = one.missing_servers;
    }
  }
  return list;
}

std::vector<std::string> missing_servers_in(const Json& json) {
  std::vector<std::string> names;
  if (const Json* servers = find(json, "missing_servers");
      servers != nullptr && servers->is_array()) {
    for (const Json& server : *servers) {
      if (server.is_string()) {
        names.push_back(server.get<std::string>());
      }
    }
  }
  return names;
}

std::vector<MemberResult> members_from_json(const Json& list) {
  const auto number_at = [](const Json& json, std::string_view key) -> std::optional<int> {
    return find(json, key) != nullptr ? std::optional(static_cast<int>(integer_at(json, key)))
                                      : std::nullopt;
  };
  std::vector<MemberResult> members;
  for (const Json& json : list) {
    members.push_back({.member = std::string(text_at(json, "member")),
                       .run_id = std::string(text_at(json, "run_id")),
                       .taken_from = std::string(text_at(json, "taken_from")),
                       .exit_code = number_at(json, "exit_code"),
                       .exit_status = number_at(json, "exit_status"),
                       .error = cause_in(json, "error"),
                       .cost = money_at(json, "cost_usd"),
                       .turns = integer_at(json, "turns"),
                       .duration_ms = integer_at(json, "duration_ms"),
                       .round = std::max<std::int64_t>(1, integer_at(json, "round")),
                       .missing_servers = missing_servers_in(json)});
  }
  return members;
}

std::vector<ModelUse> models_from_json(const Json& list) {
  std::vector<ModelUse> models;
  for (const Json& json : list) {
    models.push_back(model_use_from_json(json));
  }
  return models;
}

}  // namespace

std::span<const ExitRow> exit_table() {
  return k_exits;
}

const ExitRow& exit_row(int exit_code) {
  const auto found = std::ranges::find(k_exits, exit_code, &ExitRow::exit_code);
  return found != k_exits.end()
             ? *found
             : *std::ranges::find(k_exits, row(Code::internal).exit_code, &ExitRow::exit_code);
}

bool is_built(const ExitRow& row) {
  const auto is_there = [&](const CodeRow& code) {
    return code.exit_code == row.exit_code && !code.since.empty();
  };
  const bool is_signal = row.exit_code > 128;
  return row.exit_code == 0 || is_signal || std::ranges::any_of(error_table(), is_there);
}

std::string_view to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::failed:
      return "failed";
    case Status::stopped:
      return "stopped";
    case Status::error:
      return "error";
    case Status::cancelled:
      return "cancelled";
  }
  std::unreachable();
}

ModelUse& ModelUse::operator+=(const ModelUse& more) {
  turns += more.turns;
  usage += more.usage;
  cost = sum_of(cost, more.cost);
  usage_estimated = usage_estimated || more.usage_estimated;
  return *this;
}

ModelUse& ModelUse::operator-=(const ModelUse& part) {
  turns -= part.turns;
  usage -= part.usage;
  cost = cost && part.cost ? std::optional(*cost - *part.cost) : cost;
  return *this;
}

bool is_meant_for_all(const RunResult& member) {
  return member.error && is_meant_for_all(member.error->code) && !member.error->is_unfinished;
}

bool is_meant_for_all(Code code) {
  return code == Code::guardrail_killed || code == Code::run_declined ||
         code == Code::tool_policy_blocked || code == Code::replay_miss;
}

bool is_parked(const RunResult& result) {
  return result.error && result.error->code == Code::tool_confirmation_required;
}

bool has_waited_too_long(const RunResult& result) {
  return result.error && result.error->code == Code::durable_signal_timeout;
}

ModelUse& use_of_model(std::vector<ModelUse>& models, const std::string& model) {
  const auto found = std::ranges::find(models, model, &ModelUse::model);
  return found != models.end() ? *found : models.emplace_back(ModelUse{.model = model});
}

std::vector<ModelUse> uses_since(const std::vector<ModelUse>& before, std::vector<ModelUse> uses) {
  for (ModelUse& use : uses) {
    const auto same = std::ranges::find(before, use.model, &ModelUse::model);
    if (same != before.end()) {
      use -= *same;
    }
  }
  for (const ModelUse& one : before) {
    if (std::ranges::find(uses, one.model, &ModelUse::model) == uses.end()) {
      uses.emplace_back(ModelUse{.model = one.model}) -= one;
    }
  }
  return uses;
}

namespace {

// What was recorded of one kind is no less for what was lost of another.
void drop_what_is_negative(ModelUse& use) {
  use.turns = std::max<std::int64_t>(use.turns, 0);
  for (const UsageCount& one : k_usage_counts) {
    std::int64_t& count = use.usage.*one.count;
    count = std::max<std::int64_t>(count, 0);
  }
}

}  // namespace

std::vector<ModelUse> lost_uses(const std::vector<ModelUse>& heard,
                                const std::vector<ModelUse>& recorded) {
  std::vector<ModelUse> lost = uses_since(recorded, heard);
  std::erase_if(lost, [](const ModelUse& use) {
    return use.usage.total() <= 0 && use.cost.value_or(Money{}) <= Money{};
  });
  std::ranges::for_each(lost, drop_what_is_negative);
  return lost;
}

void add_uses(RunResult& result, const std::vector<ModelUse>& more) {
  for (const ModelUse& use : more) {
    use_of_model(result.models, use.model) += use;
    result.usage += use.usage;
    result.cost = sum_of(result.cost, use.cost);
    result.usage_estimated = result.usage_estimated || use.usage_estimated;
  }
}

Cause cause_of(const Error& error) {
  return {.code = error.code, .message = error.message, .help = error.help};
}

MemberResult member_result(std::string member, const RunResult& result) {
  return {.member = std::move(member),
          .run_id = result.run_id,
          .exit_code = result.exit_code,
          .error = result.error ? std::optional(cause_of(*result.error)) : std::nullopt,
          .cost = result.cost,
          .turns = result.turns,
          .duration_ms = result.duration_ms,
          .missing_servers = result.missing_servers};
}

bool is_resumable(int exit_code) {
  const ExitRow& row = exit_row(exit_code);
  return row.status == Status::ok || row.resumable == "yes" || row.resumable == "maybe";
}

bool has_final_answer(int exit_code) {
  return exit_code == 0 || exit_code == row(Code::run_task_failed).exit_code;
}

bool needs_message(int exit_code) {
  const Status status = status_of(exit_code);
  return status == Status::ok || status == Status::failed ||
         exit_code == row(Code::run_loop_detected).exit_code;
}

Status status_of(int exit_code) {
  return exit_row(exit_code).status;
}

int exit_code(const Error& error) {
  const int code = row(error.code).exit_code;
  return code != 0 ? code : row(Code::internal).exit_code;
}

int exit_code(const Ending& ending) {
  if (ending.signal != 0) {
    return 128 + ending.signal;
  }
  return ending.error ? exit_code(*ending.error) : 0;
}

Json to_json(const Usage& usage) {
  Json json = Json::object();
  for (const UsageCount& one : k_usage_counts) {
    json[one.name] = usage.*one.count;
  }
  return json;
}

Usage usage_from_json(const Json& json) {
  Usage usage;
  for (const UsageCount& one : k_usage_counts) {
    usage.*one.count = integer_at(json, one.name);
  }
  return usage;
}

Json to_json(const ModelUse& use) {
  return {{"model", use.model},
          {"turns", use.turns},
          {"usage", to_json(use.usage)},
          {"cost_usd", to_json(use.cost)},
          {"usage_estimated", use.usage_estimated}};
}

ModelUse model_use_from_json(const Json& json) {
  const Json* usage = find(json, "usage");
  return {.model = std::string(text_at(json, "model")),
          .turns = integer_at(json, "turns"),
          .usage = usage != nullptr ? usage_from_json(*usage) : Usage{},
          .cost = money_at(json, "cost_usd"),
          .usage_estimated = bool_at(json, "usage_estimated")};
}

namespace {

// What errand itself has tried again, and gives up, is the caller's to try where the table says so.
bool may_help_again(Code code) {
  const CodeRow& policy = row(code);
  return policy.retry == Retry::caller ||
         (is_automatic(policy.retry) && exit_row(policy.exit_code).retry != "no");
}

}  // namespace

Json to_json(const Error& error) {
  const CodeRow& policy = row(error.code);
  const bool retryable = error.server_says_retry.value_or(may_help_again(error.code));
  Json json = {
      {"code", policy.name},
      {"message", error.message},
      {"help", error.help.empty() ? std::string(policy.advice) : error.help},
      {"retryable", retryable},
      {"retry_after_s",
       error.retry_after ? number_json(static_cast<double>(error.retry_after->count()) / 1000)
                         : Json(nullptr)},
      {"http_status", json_or_null(error.http_status)},
      {"provider", json_or_null(error.provider)},
      {"model", json_or_null(error.model)},
      {"request_id", json_or_null(error.request_id)},
      {"file", error.where ? json_or_null(error.where->file) : Json(nullptr)},
      {"line", error.where ? json_or_null(error.where->line) : Json(nullptr)},
      {"column", error.where ? json_or_null(error.where->column) : Json(nullptr)},
      {"attempts", json_or_null(error.attempts)},
      {"cause", nullptr},
  };
  if (error.cause) {
    json["cause"] = to_json(*error.cause);
  }
  return json;
}

Json to_json(const std::vector<Fallback>& fallbacks) {
  Json list = Json::array();
  for (const Fallback& one : fallbacks) {
    list.push_back({{"from", one.from},
                    {"to", one.to},
                    {"reason", row(one.reason).name},
                    {"count", one.count}});
  }
  return list;
}

std::vector<Fallback> fallbacks_from_json(const Json& json) {
  std::vector<Fallback> fallbacks;
  for (const Json& one : json) {
    fallbacks.push_back({.from = std::string(text_at(one, "from")),
                         .to = std::string(text_at(one, "to")),
                         .reason = code_from_name(text_at(one, "reason")).value_or(Code::internal),
                         .count = integer_at(one, "count")});
  }
  return fallbacks;
}

Error error_from_json(const Json& json) {
  Error error;
  error.code = code_from_name(text_at(json, "code")).value_or(Code::internal);
  error.message = text_at(json, "message");
  error.help = text_at(json, "help");
  error.http_status = static_cast<int>(integer_at(json, "http_status"));
  error.provider = text_at(json, "provider");
  error.model = text_at(json, "model");
  error.request_id = text_at(json, "request_id");
  error.attempts = static_cast<int>(integer_at(json, "attempts"));
  if (const Json* delay = find(json, "retry_after_s"); delay != nullptr && is_number(*delay)) {
    error.retry_after = std::chrono::milliseconds(std::llround(real_of(*delay) * 1000));
  }
  if (const Json* again = find(json, "retryable");
      again != nullptr && again->is_boolean() && *again != may_help_again(error.code)) {
    error.server_says_retry = again->get<bool>();
  }
  if (const std::string_view file = text_at(json, "file"); !file.empty()) {
    error.where = Where{.file = std::string(file),
                        .line = static_cast<int>(integer_at(json, "line")),
                        .column = static_cast<int>(integer_at(json, "column")),
                        .excerpt = {}};
  }
  error.cause = cause_in(json, "cause");
  return error;
}

namespace {

template <typename Place>
void write_fields(Place& json, const RunResult& result) {
  json["schema"] = k_result_schema;
  json["status"] = to_string(status_of(result.exit_code));
  json["exit_code"] = result.exit_code;
  json["exit_name"] = exit_row(result.exit_code).name;
  json["text"] = result.text;
  json["output"] = parse_json(result.output).value_or(Json());
  json["partial"] = result.partial;
  json["stop"] = result.stop ? to_json(*result.stop) : Json(nullptr);
  json["error"] = result.error ? to_json(*result.error) : Json(nullptr);
  json["usage"] = to_json(result.usage);
  json["cost_usd"] = to_json(result.cost);
  json["turns"] = result.turns;
  json["tool_calls"] = result.tool_calls;
  json["denials"] = result.denials;
  json["model"] = json_or_null(result.model);
  json["fallbacks"] = to_json(result.fallbacks);
  json["over_budget"] = result.over_budget;
  json["run_id"] = json_or_null(result.run_id);
  json["resume_cmd"] = json_or_null(result.resume_cmd);
  json["trace_id"] = json_or_null(result.trace_id);
  json["duration_ms"] = result.duration_ms;
  json["models"] = to_json(result.models);
  json["usage_estimated"] = result.usage_estimated;
  if (!result.members.empty()) {
    json["members"] = to_json(result.members);
  }
  if (!result.missing_servers.empty()) {
    json["missing_servers"] = Json(result.missing_servers);
  }
}

}  // namespace

void write(Json& place, const RunResult& result) {
  write_fields(place, result);
}

void write(JsonText&& place, const RunResult& result) {
  write_fields(place, result);
}

Json to_json(const RunResult& result) {
  Json json;
  write(json, result);
  return json;
}

std::string dump(const RunResult& result) {
  std::string text;
  write(JsonText(text), result);
  return text;
}

RunResult result_from_json(const Json& json) {
  RunResult result;
  result.exit_code = static_cast<int>(integer_at(json, "exit_code"));
  result.text = text_at(json, "text");
  if (const Json* output = find(json, "output")) {
    result.output = dump(*output);
  }
  result.partial = bool_at(json, "partial");
  if (const Json* stop = find(json, "stop")) {
    result.stop = Stop{.reason = std::string(text_at(*stop, "reason")),
                       .limit = std::string(text_at(*stop, "limit")),
                       .used = real_at(*stop, "used"),
                       .max = real_at(*stop, "max"),
                       .config_path = std::string(text_at(*stop, "config_path")),
                       .detail = std::string(text_at(*stop, "detail"))};
  }
  if (const Json* error = find(json, "error")) {
    result.error = error_from_json(*error);
  }
  if (const Json* usage = find(json, "usage")) {
    result.usage = usage_from_json(*usage);
  }
  result.turns = integer_at(json, "turns");
  result.tool_calls = integer_at(json, "tool_calls");
  result.denials = integer_at(json, "denials");
  result.model = text_at(json, "model");
  if (const Json* fallbacks = find(json, "fallbacks")) {
    result.fallbacks = fallbacks_from_json(*fallbacks);
  }
  result.over_budget = bool_at(json, "over_budget");
  result.run_id = text_at(json, "run_id");
  result.resume_cmd = text_at(json, "resume_cmd");
  result.trace_id = text_at(json, "trace_id");
  result.duration_ms = integer_at(json, "duration_ms");
  result.cost = money_at(json, "cost_usd");
  if (const Json* models = find(json, "models")) {
    result.models = models_from_json(*models);
  }
  result.usage_estimated = bool_at(json, "usage_estimated");
  if (const Json* members = find(json, "members")) {
    result.members = members_from_json(*members);
  }
  result.missing_servers = missing_servers_in(json);
  return result;
}

}  // namespace agent
