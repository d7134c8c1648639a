#include "cli/serve/mcp_dialogue.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace cli {
namespace {

using agent::Json;
using tools::mcp::Message;

constexpr std::string_view k_without_session = "2026-07-28";
// The first one is offered to clients that want another.
constexpr auto k_with_session =
    std::to_array<std::string_view>({"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"});
constexpr std::string_view k_with_lists = "2025-03-26";

constexpr std::string_view k_revision_key = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view k_capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view k_server_key = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view k_details_key = "errand/result";

const Json* metadata_of(const Message& message) {
  const Json* metadata = agent::find(message.body, "_meta");
  return metadata != nullptr && metadata->is_object() ? metadata : nullptr;
}

const Json* metadatum(const Message& message, std::string_view key) {
  const Json* metadata = metadata_of(message);
  return metadata != nullptr ? agent::find(*metadata, key) : nullptr;
}

// What a client may call a request, and the progress of one, by.
bool is_name(const Json& value) {
  return value.is_string() || value.is_number_integer();
}

Json revisions() {
  Json all = Json::array({k_without_session});
  std::ranges::copy(k_with_session, std::back_inserter(all));
  return all;
}

Reaction method_unknown(const Message& message) {
  return refused(message.id,
                 tools::mcp::k_method_not_found,
                 fmt::format("there is no method `{}`", agent::one_line(message.method, 60)));
}

Json json_of(const ServedTool& tool) {
  Json json = {
      {"name", tool.name}, {"description", tool.description}, {"inputSchema", tool.input_schema}};
  if (!tool.output_schema.is_null()) {
    json["outputSchema"] = tool.output_schema;
  }
  return json;
}

}  // namespace

bool is_session_revision(std::string_view revision) {
  return std::ranges::find(k_with_session, revision) != k_with_session.end();
}

bool is_stateless_revision(std::string_view revision) {
  return revision == k_without_session;
}

bool is_stateless(const Message& message) {
  return message.method == "server/discover" || metadatum(message, k_revision_key) != nullptr;
}

Reaction refused(const Json& id, std::int64_t code, std::string_view message, const Json& data) {
  return {.reply = tools::mcp::error_text(id, code, message, data), .error_code = code};
}

Reaction unspoken_revision(const Json& id, const Json& revision) {
  const bool has_session = revision.is_string() && is_session_revision(revision.get<std::string>());
  return refused(id,
                 tools::mcp::k_unsupported_version,
                 has_session ? "this revision of the protocol begins with `initialize`"
                             : "this revision of the protocol is not spoken here",
                 {{"supported", revisions()}, {"requested", revision}});
}

Heard McpDialogue::hear(std::string_view text) {
  auto json = agent::parse_json(text);
  if (!json) {
    const tools::mcp::Unreadable found = tools::mcp::look_at_unreadable(text);
    return {.reactions = {refused(
                is_name(found.id) ? found.id : Json(), tools::mcp::k_parse_error, found.why)}};
  }
  if (!json->is_array()) {
    return {.reactions = {hear_one(*std::move(json))}};
  }
  if (revision_ != k_with_lists || json->empty()) {
    const std::string_view why = revision_ == k_with_lists
                                     ? "the list of messages is empty"
                                     : "a list of messages is none: send each by itself";
    return {.reactions = {refused({}, tools::mcp::k_invalid_request, why)}};
  }
  Heard heard{.reactions = {}, .is_list = true};
  for (Json& one : *json) {
    heard.reactions.push_back(hear_one(std::move(one)));
  }
  return heard;
}

Reaction McpDialogue::hear_one(Json json) {
  const Json* const id = agent::find(json, "id");
  const Json known = id != nullptr && is_name(*id) ? *id : Json();
  const auto message = tools::mcp::read_message(std::move(json), tools::mcp::Reading::strict);
  return message ? hear(*message) : refused(known, tools::mcp::k_invalid_request, message.error());
}

// Answers are to nothing that was asked here, and are left alone.
Reaction McpDialogue::hear(const Message& message) {
  if (message.kind == Message::Kind::notification) {
    const Json* id = agent::find(message.body, "requestId");
    return message.method == "notifications/cancelled" && id != nullptr && is_name(*id)
               ? Reaction{.cancelled = *id}
               : Reaction{};
  }
  if (message.kind != Message::Kind::request) {
    return {};
  }
  if (auto wrong = refusal(message)) {
    return *std::move(wrong);
  }
  return is_stateless(message) ? hear_stateless(message) : hear_in_session(message);
}

Reaction McpDialogue::hear_without_session(const Message& message) {
  auto wrong = refusal(message);
  return wrong ? *std::move(wrong) : hear_stateless(message);
}

std::optional<Reaction> McpDialogue::refusal(const Message& request) {
  if (!is_name(request.id)) {
    return refused(
        {}, tools::mcp::k_invalid_request, "the id of a request is text or a whole number");
  }
  if (!request.body.is_null() && !request.body.is_object()) {
    return refused(request.id, tools::mcp::k_invalid_params, "`params` is an object");
  }
  return std::nullopt;
}

Reaction McpDialogue::hear_in_session(const Message& message) {
  if (message.method == "initialize") {
    return initialize(message);
  }
  if (message.method == "ping") {
    return done(message, Json::object(), false);
  }
  const bool is_known = message.method == "tools/list" || message.method == "tools/call";
  if (!is_known) {
    return method_unknown(message);
  }
  if (revision_.empty()) {
    return refused(message.id,
                   tools::mcp::k_invalid_request,
                   fmt::format("`initialize` comes first, or `_meta` with {}", k_revision_key));
  }
  return message.method == "tools/list" ? list(message, false) : call(message, false);
}

Reaction McpDialogue::hear_stateless(const Message& message) {
  const Json* revision = metadatum(message, k_revision_key);
  if (revision == nullptr || !revision->is_string()) {
    return refused(
        message.id, tools::mcp::k_invalid_params, fmt::format("`_meta` lacks {}", k_revision_key));
  }
  if (!is_stateless_revision(revision->get<std::string>())) {
    return unspoken_revision(message.id, *revision);
  }
  const Json* capabilities = metadatum(message, k_capabilities_key);
  if (capabilities == nullptr || !capabilities->is_object()) {
    return refused(message.id,
                   tools::mcp::k_invalid_params,
                   fmt::format("`_meta` lacks {}", k_capabilities_key));
  }
  return message.method == "server/discover" ? discover(message)
         : message.method == "tools/list"    ? list(message, true)
         : message.method == "tools/call"    ? call(message, true)
                                             : method_unknown(message);
}

Reaction McpDialogue::initialize(const Message& message) {
  const std::string_view wanted = agent::text_at(message.body, "protocolVersion");
  if (wanted.empty()) {
    return refused(
        message.id, tools::mcp::k_invalid_params, "`initialize` says its `protocolVersion`");
  }
  if (!revision_.empty()) {
    return refused(message.id, tools::mcp::k_invalid_request, "`initialize` comes once");
  }
  revision_ = is_session_revision(wanted) ? wanted : k_with_session.front();
  return done(message,
              {{"protocolVersion", revision_},
               {"capabilities", {{"tools", Json::object()}}},
               {"serverInfo", server_info()}},
              false);
}

Reaction McpDialogue::discover(const Message& message) const {
  return done(message,
              {{"supportedVersions", revisions()}, {"capabilities", {{"tools", Json::object()}}}},
              true);
}

// There is one page.
Reaction McpDialogue::list(const Message& message, bool is_stateless) const {
  if (agent::find(message.body, "cursor") != nullptr) {
    return refused(message.id, tools::mcp::k_invalid_params, "no list here has such a `cursor`");
  }
  Json all = Json::array();
  std::ranges::transform(tools_, std::back_inserter(all), json_of);
  return done(message, {{"tools", std::move(all)}}, is_stateless);
}

Reaction McpDialogue::call(const Message& message, bool is_stateless) const {
  const std::string name(agent::text_at(message.body, "name"));
  const auto tool = std::ranges::find(tools_, name, &ServedTool::name);
  if (tool == tools_.end()) {
    std::vector<std::string_view> names;
    std::ranges::transform(tools_, std::back_inserter(names), &ServedTool::name);
    const auto meant = agent::nearest(agent::prefix(name, 100), names);
    return refused(message.id,
                   tools::mcp::k_invalid_params,
                   name.empty()
                       ? std::string("a call without a `name`")
                       : fmt::format("there is no tool `{}`{}",
                                     agent::one_line(name, 60),
                                     meant ? fmt::format("; did you mean `{}`?", *meant) : ""));
  }
  const Json* arguments = agent::find(message.body, "arguments");
  if (arguments != nullptr && !arguments->is_object()) {
    return refused(message.id, tools::mcp::k_invalid_params, "`arguments` is an object");
  }
  const Json* token = metadatum(message, "progressToken");
  if (token != nullptr && !is_name(*token)) {
    return refused(
        message.id, tools::mcp::k_invalid_params, "`progressToken` is text or a whole number");
  }
  return {.call = AskedCall{.id = message.id,
                            .tool = name,
                            .arguments = arguments != nullptr ? *arguments : Json::object(),
                            .progress_token = token != nullptr ? *token : Json(),
                            .is_stateless = is_stateless,
                            .takes_turns = tool->takes_turns}};
}

// Without a session, a result says that it is a whole one; what it lists is the same for as long as
// the program runs, but the next one that is asked may be another.
Reaction McpDialogue::done(const Message& message, Json result, bool is_stateless) const {
  if (is_stateless) {
    result["resultType"] = "complete";
    result["ttlMs"] = 0;
    result["cacheScope"] = "private";
    result["_meta"] = {{k_server_key, server_info()}};
  }
  return {.reply = tools::mcp::result_text(message.id, result)};
}

Json McpDialogue::server_info() const {
  return {{"name", "errand"}, {"version", version_}};
}

std::string call_reply(const AskedCall& call, const ServedResult& result) {
  Json json = {{"content", Json::array()}};
  for (const std::string& text : result.texts) {
    json["content"].push_back({{"type", "text"}, {"text", text}});
  }
  if (!result.structured.is_null()) {
    json["structuredContent"] = result.structured;
  }
  json["isError"] = result.is_error;
  if (!result.details.is_null()) {
    json["_meta"] = {{k_details_key, result.details}};
  }
  if (call.is_stateless) {
    json["resultType"] = "complete";
  }
  return tools::mcp::result_text(call.id, json);
}

std::string progress_message(const AskedCall& call, std::int64_t count, std::string_view line) {
  return tools::mcp::notification_text(
      "notifications/progress",
      {{"progressToken", call.progress_token}, {"progress", count}, {"message", line}});
}

}  // namespace cli
