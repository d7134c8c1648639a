#include "tools/oauth/oauth_client.h"

#include "agent/base64.h"
#include "agent/duration.h"
#include "agent/json.h"
#include "agent/random_bytes.h"
#include "agent/retry_after_header.h"
#include "agent/signed_token.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

namespace tools::oauth {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;

constexpr std::size_t k_most_body = 256u << 10;
constexpr std::size_t k_most_token = 64u << 10;
constexpr int k_too_many = 429;
constexpr int k_unavailable = 503;
constexpr std::int64_t k_longest = std::int64_t{10} * 365 * 24 * 3600;  // seconds of a lifetime
constexpr agent::Timeouts k_timeouts{.connect = agent::Milliseconds{10'000},
                                     .first_byte = agent::Milliseconds{15'000},
                                     .idle = agent::Milliseconds{15'000},
                                     .request = agent::Milliseconds{15'000}};

std::string clipped(std::string_view text) {
  return agent::one_line(text, 200);
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// What may stand in a header behind "Bearer ".
bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= k_most_token &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// A text that is there; nullopt where it is none, or of another type.
std::optional<std::string> own_text(const Json& object, std::string_view key) {
  const Json* value = agent::find(object, key);
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>())
                                                : std::nullopt;
}

// Some servers write it as text.
std::optional<long long> seconds_of(const Json& value) {
  long long seconds = 0;
  if (!value.is_string()) {
    return agent::is_number(value) ? agent::integer_of(value) : std::nullopt;
  }
  const auto& text = value.get_ref<const std::string&>();
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  return error == std::errc() && stop == end ? std::optional(seconds) : std::nullopt;
}

std::unexpected<agent::Error> unusable_answer(std::string message) {
  return agent::fail(Code::mcp_auth, std::move(message));
}

Result<Tokens> tokens_of(const Json& json) {
  Tokens tokens;
  const auto access = own_text(json, "access_token");
  if (!access || !is_token(*access)) {
    return unusable_answer("the authorization server gave no usable access token");
  }
  tokens.access_token = *access;
  if (const auto type = own_text(json, "token_type"); !type || agent::to_lower(*type) != "bearer") {
    return unusable_answer(
        fmt::format("the authorization server gave a token of the type `{}`, and only "
                    "Bearer is spoken here",
                    clipped(type.value_or(""))));
  }
  if (agent::find(json, "refresh_token") != nullptr) {
    const auto refresh = own_text(json, "refresh_token");
    if (!refresh || !is_token(*refresh)) {
      return unusable_answer("the authorization server gave a refresh token that is not one");
    }
    tokens.refresh_token = *refresh;
  }
  if (const Json* lifetime = agent::find(json, "expires_in"); lifetime != nullptr) {
    const auto seconds = seconds_of(*lifetime);
    if (!seconds || *seconds < 0) {
      return unusable_answer(
          "the authorization server gave a token with a lifetime that is not one");
    }
    tokens.lifetime = std::clamp<std::int64_t>(*seconds, 1, k_longest);
  }
  if (agent::find(json, "scope") != nullptr) {
    const auto scope = own_text(json, "scope");
    if (!scope) {
      return unusable_answer("the authorization server gave a `scope` that is not a text");
    }
    tokens.scopes = split_scopes(*scope);
  }
  return tokens;
}

agent::Error as_connection_error(agent::Error error, const std::string& url) {
  if (error.code == Code::run_cancelled) {
    return error;
  }
  error.message = fmt::format("{}: {}", clipped(url), error.message);
  error.code = Code::mcp_connection;
  error.help = "See whether that address is right, and can be reached from here.";
  return error;
}

// With how long it asks to be left alone; its status is none of the MCP server's.
agent::Error trouble_of(const agent::HttpResponse& response,
                        const std::string& url,
                        agent::Clock::Wall now) {
  agent::Error error{.code = Code::mcp_connection,
                     .message = fmt::format("{} answers {}", clipped(url), response.status),
                     .help = {}};
  const bool is_busy = response.status == k_too_many;
  if (is_busy || response.status == k_unavailable) {
    const auto pause = agent::asked_pause(response.headers, now);
    error.retry_after = is_busy ? pause.value_or(agent::Milliseconds{0}) : pause;
    error.message +=
        pause ? fmt::format("; it may be asked again in {}", agent::format_duration(*pause)) : "";
  }
  return error;
}

}  // namespace

Result<TokenAnswer> read_token_answer(std::string_view body, bool is_success) {
  const auto json = agent::parse_json(body, 20);
  if (is_success && (!json || !json->is_object())) {
    return unusable_answer("the authorization server's answer is not a JSON object");
  }
  const Json* const said = json ? agent::find(*json, "error") : nullptr;
  if (!is_success || (said != nullptr && agent::find(*json, "access_token") == nullptr)) {
    std::string error = said == nullptr ? "" : agent::one_line(agent::text_at(*json, "error"), 60);
    if (error.empty()) {
      return unusable_answer(
          fmt::format("the authorization server refuses, and its answer is no error of OAuth{}",
                      said == nullptr ? "" : ": " + clipped(agent::dump(*said))));
    }
    return TokenAnswer{
        .tokens = {},
        .error = std::move(error),
        .description = agent::one_line(agent::text_at(*json, "error_description"), 300)};
  }
  TRY_ASSIGN(Tokens tokens, tokens_of(*json));
  return TokenAnswer{.tokens = std::move(tokens), .error = {}, .description = {}};
}

Result<std::string> client_auth_of(const Client& client,
                                   std::string_view registered,
                                   const ServerMetadata& server) {
  std::vector<std::string_view> ways;  // the best first
  if (!client.private_key.empty()) {
    ways = {"private_key_jwt"};
  } else if (!client.secret.empty()) {
    ways = {"client_secret_basic", "client_secret_post", "none"};
  } else {
    ways = {"none"};
  }
  if (!registered.empty()) {
    std::erase_if(ways, [&](std::string_view way) { return way != registered; });
  } else if (!server.client_auth_methods.empty() && client.secret.empty() &&
             client.private_key.empty()) {
    return std::string("none");  // a public client need not be named in that list
  } else if (!server.client_auth_methods.empty()) {
    std::erase_if(ways,
                  [&](std::string_view way) { return !has_word(server.client_auth_methods, way); });
  }
  if (ways.empty()) {
    return unusable_answer(fmt::format(
        "{} takes no client that says who it is in a way that errand can", clipped(server.issuer)));
  }
  return std::string(ways.front());
}

Result<agent::HttpResponse> OAuthClient::send(std::string_view method,
                                              const std::string& url,
                                              agent::Headers headers,
                                              std::string_view body,
                                              const std::stop_token& stop,
                                              const agent::OnData& on_data) const {
  auto response = http_.send({.method = std::string(method),
                              .url = url,
                              .headers = std::move(headers),
                              .body = body,
                              .timeouts = k_timeouts,
                              .max_body = k_most_body},
                             on_data,
                             stop);
  if (!response) {
    return agent::fail(as_connection_error(std::move(response).error(), url));
  }
  if (response->status >= 500 || response->status == k_too_many) {
    return agent::fail(trouble_of(*response, url, clock_.wall()));
  }
  return response;
}

// For the MCP server.
agent::Headers OAuthClient::with_own(agent::Headers headers) const {
  headers.insert(headers.end(), headers_.begin(), headers_.end());
  return headers;
}

Result<std::optional<std::string>> OAuthClient::get_first(const std::vector<std::string>& places,
                                                          const agent::Headers& headers,
                                                          const std::stop_token& stop) const {
  for (const std::string& place : places) {
    TRY_ASSIGN(auto response, send("GET", place, headers, {}, stop));
    if (response.status == 200) {
      return std::move(response.body);
    }
  }
  return std::nullopt;
}

Result<std::optional<ResourceMetadata>> OAuthClient::resource_metadata(
    const Challenge& challenge, const std::stop_token& stop) const {
  std::vector<std::string> places = resource_metadata_places(server_);
  const std::string& named = challenge.resource_metadata;
  if (!named.empty()) {
    TRY_ASSIGN(const Url place, check_address(named, "the server's `resource_metadata`", server_));
    if (place.origin() != server_.origin()) {
      return unusable_answer(fmt::format(
          "the MCP server says that its metadata is on another one: {}", clipped(named)));
    }
    places = {place.text()};
  }
  TRY_ASSIGN(const auto text, get_first(places, with_own({{"Accept", "application/json"}}), stop));
  if (!text && !named.empty()) {
    return unusable_answer(fmt::format("the MCP server's metadata is not at {}", clipped(named)));
  }
  if (!text) {
    return std::nullopt;
  }
  TRY_ASSIGN(auto metadata, read_resource_metadata(*text, server_));
  return metadata;
}

Result<Discovery> OAuthClient::discover(const Challenge& challenge,
                                        const std::string& issuer,
                                        const std::stop_token& stop) const {
  Discovery found;
  TRY_ASSIGN(auto resource, resource_metadata(challenge, stop));
  if (!resource && issuer.empty()) {
    return agent::fail(
        Code::mcp_auth,
        fmt::format("{} {}",
                    clipped(server_.text()),
                    challenge.is_made ? "wants a login, and does not say where"
                                      : "answers without a login, and names nobody who makes one"),
        challenge.is_made ? "where it gives out tokens itself: `headers: {Authorization: \"Bearer "
                            "${env:TOKEN}\"}`; else name the authorization server with `oauth: "
                            "{issuer: https://…}`"
                          : "`errand mcp test AGENT` shows whether it can be used as it is; else "
                            "name the authorization server with `oauth: {issuer: https://…}`");
  }
  if (resource && !issuer.empty() && !has_word(resource->servers, issuer)) {
    return agent::fail(
        Code::mcp_auth,
        fmt::format("{} is not an authorization server of {}, which names {}",
                    clipped(issuer),
                    clipped(server_.text()),
                    clipped(join_scopes(resource->servers))),
        "mend `issuer` in the agent file; a client that was made there is none of another one's");
  }
  found.resource =
      resource ? *std::move(resource)
               : ResourceMetadata{.resource = server_.text(), .servers = {issuer}, .scopes = {}};
  const std::string chosen = issuer.empty() ? found.resource.servers.front() : issuer;
  TRY_ASSIGN(const Url url, check_address(chosen, "the authorization server", server_));
  TRY_ASSIGN(const auto text,
             get_first(server_metadata_places(url), {{"Accept", "application/json"}}, stop));
  if (!text) {
    return unusable_answer(
        fmt::format("the authorization server {} does not say how to log in", clipped(chosen)));
  }
  TRY_ASSIGN(found.server, read_server_metadata(*text, chosen, server_));
  return found;
}

Result<Client> OAuthClient::register_client(const ServerMetadata& server,
                                            const std::string& redirect,
                                            const std::stop_token& stop) const {
  const auto& methods = server.client_auth_methods;
  const auto takes = [&](std::string_view way) { return has_word(methods, way); };
  const std::string wanted = methods.empty() || takes("none") ? "none"
                             : takes("client_secret_basic")   ? "client_secret_basic"
                                                              : "client_secret_post";
  const Json body = {{"client_name", "errand"},
                     {"redirect_uris", {redirect}},
                     {"grant_types", {"authorization_code", "refresh_token"}},
                     {"response_types", {"code"}},
                     {"application_type", "native"},
                     {"token_endpoint_auth_method", wanted}};
  const std::string text = agent::dump(body);
  TRY_ASSIGN(const auto response,
             send("POST",
                  server.registration_endpoint,
                  {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
                  text,
                  stop));
  const auto json = agent::parse_json(response.body, 20);
  const auto id = json ? own_text(*json, "client_id") : std::nullopt;
  if (!is_success(response.status) || !id || id->empty() || id->size() > k_most_token) {
    return agent::fail(Code::mcp_auth,
                       fmt::format("{} registers no client for errand ({}{})",
                                   clipped(server.issuer),
                                   response.status,
                                   json ? ": " + clipped(agent::text_at(*json, "error")) : ""),
                       "make one there yourself, and name it with `oauth: {client_id: …}`");
  }
  Client client{.id = *id,
                .secret = own_text(*json, "client_secret").value_or(""),
                .private_key = {},
                .auth = {}};
  TRY_ASSIGN(client.auth,
             client_auth_of(client, agent::text_at(*json, "token_endpoint_auth_method"), server));
  return client;
}

Result<void> OAuthClient::identify(const Client& client,
                                   const std::string& issuer,
                                   agent::Headers& headers,
                                   Form& form) const {
  if (client.auth == "client_secret_basic") {
    const std::string pair = form_encoded(client.id) + ":" + form_encoded(client.secret);
    headers.emplace_back("Authorization", "Basic " + agent::to_base64(pair));
    return {};
  }
  form.emplace_back("client_id", client.id);
  if (client.auth == "client_secret_post") {
    form.emplace_back("client_secret", client.secret);
  }
  if (client.auth != "private_key_jwt") {
    return {};
  }
  TRY_ASSIGN(const auto key, agent::SigningKey::read(client.private_key));
  TRY_ASSIGN(const std::string random, agent::random_bytes(16));
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch()).count();
  TRY_ASSIGN(std::string assertion,
             key.sign({{"iss", client.id},
                       {"sub", client.id},
                       {"aud", issuer},
                       {"iat", now},
                       {"exp", now + 120},
                       {"jti", agent::to_base64url(random)}}));
  form.emplace_back("client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
  form.emplace_back("client_assertion", std::move(assertion));
  return {};
}

Result<TokenAnswer> OAuthClient::ask_for_tokens(const std::string& endpoint,
                                                const std::string& issuer,
                                                Form form,
                                                const Client& client,
                                                const std::stop_token& stop) const {
  agent::Headers headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                            {"Accept", "application/json"}};
  TRY(identify(client, issuer, headers, form));
  const std::string body = to_text(form);
  TRY_ASSIGN(const auto response, send("POST", endpoint, std::move(headers), body, stop));
  if (!is_success(response.status) && (response.status < 400 || response.status >= 500)) {
    return unusable_answer(fmt::format("{} answers {}", clipped(endpoint), response.status));
  }
  auto answer = read_token_answer(response.body, is_success(response.status));
  if (!answer && !is_success(response.status)) {
    answer.error().message += fmt::format(" ({} answers {})", clipped(endpoint), response.status);
  }
  return answer;
}

Result<Challenge> OAuthClient::ask_for_challenge(const std::stop_token& stop) const {
  const Json body = {{"jsonrpc", "2.0"},
                     {"id", 1},
                     {"method", "initialize"},
                     {"params",
                      {{"protocolVersion", "2025-11-25"},
                       {"capabilities", Json::object()},
                       {"clientInfo", {{"name", "errand"}, {"version", "0"}}}}}};
  const std::string text = agent::dump(body);
  TRY_ASSIGN(const auto response,
             send("POST",
                  server_.text(),
                  with_own({{"Content-Type", "application/json"},
                            {"Accept", "application/json, text/event-stream"}}),
                  text,
                  stop,
                  [](std::string_view) { return agent::Heard::enough; }));
  return response.status == 401 || response.status == 403
             ? parse_challenge(agent::header(response.headers, "WWW-Authenticate"))
             : Challenge{.is_made = false};
}

}  // namespace tools::oauth
