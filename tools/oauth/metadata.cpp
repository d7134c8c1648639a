#include "tools/oauth/metadata.h"

#include "agent/json.h"
#include "agent/text.h"
#include "tools/oauth/challenge.h"
#include "tools/web/address.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>

namespace tools::oauth {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;

constexpr std::size_t k_most_items = 200;

std::string shown(std::string_view text) {
  return agent::one_line(text, 200);
}

Result<Json> object_of(std::string_view text, std::string_view what) {
  auto json = agent::parse_json(text, 20);
  if (!json || !json->is_object()) {
    return agent::fail(Code::mcp_auth, fmt::format("{} is not a JSON object", what));
  }
  return *std::move(json);
}

Result<std::string> text_of(const Json& object, std::string_view key, std::string_view what) {
  const Json* value = agent::find(object, key);
  if (value == nullptr) {
    return std::string();
  }
  if (!value->is_string()) {
    return agent::fail(Code::mcp_auth, fmt::format("`{}` of {} is not a text", key, what));
  }
  return value->get<std::string>();
}

Result<std::vector<std::string>> texts_of(const Json& object,
                                          std::string_view key,
                                          std::string_view what) {
  std::vector<std::string> texts;
  const Json* value = agent::find(object, key);
  if (value == nullptr) {
    return texts;
  }
  const bool are_texts =
      value->is_array() && value->size() <= k_most_items &&
      std::ranges::all_of(*value, [](const Json& one) { return one.is_string(); });
  if (!are_texts) {
    return agent::fail(
        Code::mcp_auth,
        fmt::format("`{}` of {} is not a list of at most {} texts", key, what, k_most_items));
  }
  for (const Json& one : *value) {
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

// Without the query, and without a slash at its end.
std::string_view plain_path(const Url& url) {
  std::string_view path = std::string_view(url.path).substr(0, url.path.find('?'));
  while (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return path;
}

// The server's own address, or what it lies below.
bool is_resource_of(const Url& resource, const Url& server) {
  const std::string_view outer = plain_path(resource);
  const std::string_view inner = plain_path(server);
  return resource.origin() == server.origin() && inner.starts_with(outer) &&
         (inner.size() == outer.size() || inner[outer.size()] == '/');
}

Result<std::string> endpoint_of(const Json& object,
                                std::string_view key,
                                std::string_view what,
                                const Url& server) {
  TRY_ASSIGN(std::string text, text_of(object, key, what));
  if (!text.empty()) {
    TRY(check_address(text, fmt::format("`{}` of {}", key, what), server));
  }
  return text;
}

}  // namespace

bool is_loopback(const Url& url) {
  return url.host == "localhost" || reserved_for(url.host) == "loopback";
}

Result<Url> check_address(std::string_view text, std::string_view what, const Url& server) {
  // Without those of a URL that a shell reads: a browser's starter may be a script.
  static const re2::RE2 characters(R"([A-Za-z0-9._~:/?@!&*+,;=%\[\]-]*)");
  auto url = parse_url(text);
  if (!url || !re2::RE2::FullMatch(text, characters)) {
    return agent::fail(
        Code::mcp_auth,
        fmt::format("{} is not an address that can be asked: {}", what, shown(text)));
  }
  if (is_loopback(*url) && !is_loopback(server)) {
    return agent::fail(
        Code::mcp_auth,
        fmt::format("{} is on this machine, and the MCP server is not: {}", what, shown(text)));
  }
  if (url->scheme != "https" && !is_loopback(*url)) {
    return agent::fail(Code::mcp_auth, fmt::format("{} is not https: {}", what, shown(text)));
  }
  return url;
}

std::vector<std::string> resource_metadata_places(const Url& server) {
  const std::string root = server.origin() + "/.well-known/oauth-protected-resource";
  const std::string_view path = plain_path(server);
  if (path.empty()) {
    return {root};
  }
  return {root + std::string(path), root};
}

std::vector<std::string> server_metadata_places(const Url& issuer) {
  const std::string origin = issuer.origin();
  const std::string path(plain_path(issuer));
  std::vector<std::string> places = {origin + "/.well-known/oauth-authorization-server" + path,
                                     origin + "/.well-known/openid-configuration" + path};
  if (!path.empty()) {
    places.push_back(origin + path + "/.well-known/openid-configuration");
  }
  return places;
}

Result<ResourceMetadata> read_resource_metadata(std::string_view text, const Url& server) {
  constexpr std::string_view k_what = "the metadata of the MCP server";
  TRY_ASSIGN(const Json json, object_of(text, k_what));
  ResourceMetadata metadata;
  TRY_ASSIGN(metadata.resource, text_of(json, "resource", k_what));
  TRY_ASSIGN(metadata.servers, texts_of(json, "authorization_servers", k_what));
  TRY_ASSIGN(const auto scopes, texts_of(json, "scopes_supported", k_what));
  metadata.scopes = united({}, scopes);
  const auto resource = parse_url(metadata.resource);
  if (!resource || metadata.resource.contains('#') || !is_resource_of(*resource, server)) {
    return agent::fail(Code::mcp_auth,
                       fmt::format("{} is about another one: `{}`, and it was asked for {}",
                                   k_what,
                                   shown(metadata.resource),
                                   shown(server.text())));
  }
  if (metadata.servers.empty()) {
    return agent::fail(Code::mcp_auth, fmt::format("{} names no authorization server", k_what));
  }
  return metadata;
}

Result<ServerMetadata> read_server_metadata(std::string_view text,
                                            std::string_view issuer,
                                            const Url& server) {
  const std::string what = fmt::format("the metadata of {}", shown(issuer));
  TRY_ASSIGN(const Json json, object_of(text, what));
  ServerMetadata metadata;
  TRY_ASSIGN(metadata.issuer, text_of(json, "issuer", what));
  if (metadata.issuer != issuer) {
    return agent::fail(
        Code::mcp_auth,
        fmt::format("{} is about another issuer: `{}`", what, shown(metadata.issuer)));
  }
  TRY_ASSIGN(metadata.authorization_endpoint,
             endpoint_of(json, "authorization_endpoint", what, server));
  TRY_ASSIGN(metadata.token_endpoint, endpoint_of(json, "token_endpoint", what, server));
  TRY_ASSIGN(metadata.registration_endpoint,
             endpoint_of(json, "registration_endpoint", what, server));
  if (metadata.token_endpoint.empty()) {
    return agent::fail(Code::mcp_auth, fmt::format("{} names no `token_endpoint`", what));
  }
  TRY_ASSIGN(const auto scopes, texts_of(json, "scopes_supported", what));
  metadata.scopes = united({}, scopes);
  TRY_ASSIGN(metadata.client_auth_methods,
             texts_of(json, "token_endpoint_auth_methods_supported", what));
  TRY_ASSIGN(const auto methods, texts_of(json, "code_challenge_methods_supported", what));
  metadata.has_s256 = has_word(methods, "S256");
  metadata.takes_metadata_documents = agent::bool_at(json, "client_id_metadata_document_supported");
  metadata.says_issuer = agent::bool_at(json, "authorization_response_iss_parameter_supported");
  return metadata;
}

}  // namespace tools::oauth
