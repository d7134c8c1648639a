#include "tools/mcp/agreement.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;
using Kind = Message::Kind;

constexpr std::string_view k_stateless = "2026-07-28";
// With a handshake; the first one is what errand asks for.
constexpr auto k_with_session =
    std::to_array<std::string_view>({"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"});
constexpr std::string_view k_metadata = "io.modelcontextprotocol/";

Json client(std::string_view version) {
  return {{"name", "errand"}, {"version", version}};
}

// No sampling and no roots: a server's words would be the model's, and what it may see the user's
// to say.
Json capabilities() {
  return {{"elicitation", {{"form", Json::object()}}}};
}

std::string name_of_server(const Json& result) {
  const Json* info = agent::find(result, "serverInfo");
  if (const Json* metadata = agent::find(result, "_meta"); info == nullptr && metadata != nullptr) {
    info = agent::find(*metadata, std::string(k_metadata) + "serverInfo");
  }
  if (info == nullptr) {
    return {};
  }
  const std::string name = agent::one_line(agent::text_at(*info, "name"), 60);
  const std::string version = agent::one_line(agent::text_at(*info, "version"), 30);
  return version.empty() ? name : name + " " + version;
}

void take_capabilities(const Json& result, Agreement& agreement) {
  const Json* const announced = agent::find(result, "capabilities");
  const auto found = [&](std::string_view key) {
    const Json* const one = announced == nullptr ? nullptr : agent::find(*announced, key);
    return one != nullptr && one->is_object() ? one : nullptr;
  };
  const Json* const tools = found("tools");
  const Json* const tells = tools == nullptr ? nullptr : agent::find(*tools, "listChanged");
  agreement.has_tools = tools != nullptr;
  agreement.tells_of_tools = tells != nullptr && tells->is_boolean() && tells->get<bool>();
  agreement.has_resources = found("resources") != nullptr;
  agreement.has_prompts = found("prompts") != nullptr;
}

bool has_text(const Json* list, std::string_view text) {
  return list != nullptr && list->is_array() && std::ranges::any_of(*list, [&](const Json& one) {
           return one.is_string() && one.get<std::string>() == text;
         });
}

std::string texts_of(const Json& list) {
  std::string text;
  for (const Json& one : list) {
    text +=
        (text.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : agent::dump(one));
  }
  return shown(text);
}

}  // namespace

Agreement newest_agreement() {
  return {.revision = std::string(k_stateless), .is_stateless = true};
}

Json handshake(std::string_view version) {
  return {{"protocolVersion", k_with_session.front()},
          {"capabilities", capabilities()},
          {"clientInfo", client(version)}};
}

Json metadata(const Agreement& agreement, std::string_view version) {
  Json metadata = Json::object();
  if (agreement.is_stateless) {
    const auto name = [](std::string_view key) {
      return std::string(k_metadata) + std::string(key);
    };
    metadata[name("protocolVersion")] = agreement.revision;
    metadata[name("clientInfo")] = client(version);
    metadata[name("clientCapabilities")] = capabilities();
  }
  return metadata;
}

Result<std::optional<Agreement>> stateless_agreement(const Message& answer, std::string_view name) {
  const Json* versions =
      agent::find(answer.body, answer.kind == Kind::error ? "supported" : "supportedVersions");
  const bool is_newer = answer.kind == Kind::error ? answer.code == k_unsupported_version
                                                   : versions != nullptr && versions->is_array();
  if (!is_newer) {
    return std::nullopt;
  }
  if (has_text(versions, k_stateless)) {
    Agreement agreement = newest_agreement();
    agreement.server = name_of_server(answer.body);
    take_capabilities(answer.body, agreement);
    return agreement;
  }
  const bool knows_older = std::ranges::any_of(
      k_with_session, [&](std::string_view revision) { return has_text(versions, revision); });
  if (knows_older || versions == nullptr) {
    return std::nullopt;
  }
  return agent::fail(Code::mcp_initialization,
                     fmt::format("the MCP server `{}` speaks the revisions {}, and errand none of "
                                 "them",
                                 name,
                                 texts_of(*versions)));
}

Result<Agreement> session_agreement(const Message& answer, std::string_view name) {
  if (answer.kind == Kind::unusable) {
    return agent::fail(Code::mcp_initialization,
                       fmt::format("what the MCP server `{}` answered to `initialize` cannot be "
                                   "used: {}",
                                   name,
                                   answer.error_message));
  }
  if (answer.kind == Kind::error) {
    return agent::fail(Code::mcp_initialization,
                       fmt::format("the MCP server `{}` refuses: {}", name, shown_error(answer)));
  }
  const std::string_view revision = agent::text_at(answer.body, "protocolVersion");
  if (revision == k_stateless) {
    return agent::fail(
        Code::mcp_initialization,
        fmt::format("the MCP server `{}` answers `initialize` with revision `{}`, which has no "
                    "handshake, and has not answered `server/discover` as that revision says",
                    name,
                    revision));
  }
  if (std::ranges::find(k_with_session, revision) == k_with_session.end()) {
    return agent::fail(
        Code::mcp_initialization,
        fmt::format("the MCP server `{}` speaks revision `{}`, and errand does not",
                    name,
                    shown(revision.empty() ? agent::dump(answer.body) : std::string(revision))));
  }
  Agreement agreement{.revision = std::string(revision), .server = name_of_server(answer.body)};
  take_capabilities(answer.body, agreement);
  return agreement;
}

}  // namespace tools::mcp
