#include "cli/serve/mcp_over_http.h"

#include "agent/base64.h"
#include "agent/random_bytes.h"
#include "agent/sha256.h"
#include "agent/text.h"
#include "tools/mcp/header_mirror.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <memory>
#include <netinet/in.h>
#include <utility>

namespace cli {
namespace {

using agent::Json;
using tools::mcp::Message;

constexpr std::string_view k_path = "/mcp";
constexpr std::string_view k_json = "application/json";
constexpr std::string_view k_events = "text/event-stream";
constexpr std::size_t k_session_id_bytes = 16;

std::string_view header_of(const ReceivedRequest& request, std::string_view name) {
  return agent::header(request.headers, name);
}

// "localhost:8123", "[::1]": without the port. Empty: behind the colon is something else than one.
std::string host_in(std::string_view authority) {
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  const std::size_t colon =
      bracket == std::string_view::npos ? bracket : authority.find(':', bracket);
  const bool has_port = colon != std::string_view::npos;
  return has_port && !std::ranges::all_of(authority.substr(colon + 1), agent::is_digit)
             ? std::string()
             : agent::to_lower(authority.substr(0, colon));
}

// Whether a page has come from where it sends its request to, port and all; others on this machine
// are others.
bool is_own_page(std::string_view origin, std::string_view authority) {
  const std::string here = agent::to_lower(authority);
  return agent::to_lower(origin) == "http://" + here ||
         agent::to_lower(origin) == "https://" + here;
}

constexpr std::string_view k_bearer = "bearer ";

bool is_bearer(std::string_view authorization) {
  return agent::to_lower(authorization.substr(0, k_bearer.size())) == k_bearer;
}

// Compared by digests, so that the time says nothing.
bool has_token(std::string_view authorization, std::string_view token) {
  return is_bearer(authorization) &&
         agent::sha256_hex(agent::trimmed(authorization.substr(k_bearer.size()))) ==
             agent::sha256_hex(token);
}

bool accepts(std::string_view accept, std::string_view type) {
  const std::string lower = agent::to_lower(accept);
  return lower.contains(type) || lower.contains("*/*");
}

HttpReply plain(int status, std::string_view why) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::string(why) + "\n"};
}

HttpReply json_reply(int status, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", std::string(k_json)}},
          .body = std::move(body)};
}

HttpReply refusal_reply(int status, const Json& id, std::int64_t code, std::string_view why) {
  return json_reply(status, refused(id, code, why).reply);
}

// As HTTP says it, where there is no session.
int status_of_error(std::int64_t code) {
  return code == 0                                ? 200
         : code == tools::mcp::k_method_not_found ? 404
         : code == k_too_many_calls               ? 503
                                                  : 400;
}

std::string event_of(std::string_view message) {
  return fmt::format("event: message\ndata: {}\n\n", message);
}

agent::Ending ended_over_http(std::string message) {
  return {.error = agent::Error{.code = agent::Code::run_cancelled, .message = std::move(message)},
          .signal = SIGTERM};
}

}  // namespace

bool is_loopback(const std::string& address) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) {
    return (ntohl(four.s_addr) >> 24U) == 127;
  }
  return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::set<std::string> hosts_of(const std::string& address) {
  if (address == "0.0.0.0" || address == "::") {
    return {};
  }
  const std::string written = address.contains(':') ? "[" + address + "]" : address;
  return is_loopback(address)
             ? std::set<std::string>{"localhost", "127.0.0.1", "[::1]", agent::to_lower(written)}
             : std::set<std::string>{agent::to_lower(written)};
}

std::optional<HttpReply> refusal_of(const ReceivedRequest& head, const HttpAccess& access) {
  const std::string host = host_in(header_of(head, "host"));
  const std::string_view origin = header_of(head, "origin");
  if (!access.hosts.empty() && !access.hosts.contains(host)) {
    return plain(403, "this server is not asked for by that name");
  }
  if (!origin.empty() && !is_own_page(origin, header_of(head, "host"))) {
    return plain(403, "pages of that origin are not served");
  }
  if (!access.token.empty() && !has_token(header_of(head, "authorization"), access.token)) {
    HttpReply reply = plain(401,
                            is_bearer(header_of(head, "authorization"))
                                ? "the token is another one"
                                : "a bearer token is needed: `Authorization: Bearer TOKEN`");
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    return reply;
  }
  if (head.path != k_path) {
    return plain(404, "the server is at /mcp");
  }
  if (head.method != "POST" && head.method != "DELETE") {
    HttpReply reply = plain(405, "messages come by POST; there is no stream beside those");
    reply.headers.emplace_back("Allow", "POST, DELETE");
    return reply;
  }
  if (head.method == "DELETE") {
    return std::nullopt;
  }
  const std::string type = agent::to_lower(header_of(head, "content-type"));
  if (agent::trimmed(std::string_view(type).substr(0, type.find(';'))) != k_json) {
    return plain(415, "a message is application/json");
  }
  if (!accepts(header_of(head, "accept"), k_json) ||
      !accepts(header_of(head, "accept"), k_events)) {
    return plain(406, "accept application/json and text/event-stream");
  }
  return std::nullopt;
}

std::optional<std::string> header_mismatch(const agent::Headers& headers, const Message& message) {
  const Json* metadata = agent::find(message.body, "_meta");
  const std::string_view revision =
      metadata == nullptr ? ""
                          : agent::text_at(*metadata, "io.modelcontextprotocol/protocolVersion");
  if (!revision.empty() && agent::header(headers, "mcp-protocol-version") != revision) {
    return "`MCP-Protocol-Version` is not the revision of the message";
  }
  if (tools::mcp::text_of_header(agent::header(headers, "mcp-method")) != message.method) {
    return "`Mcp-Method` is not the method of the message";
  }
  if (message.method == "tools/call" &&
      tools::mcp::text_of_header(agent::header(headers, "mcp-name")) !=
          agent::text_at(message.body, "name")) {
    return "`Mcp-Name` is not the tool of the message";
  }
  return std::nullopt;
}

std::optional<HttpReply> McpOverHttp::refusal(const ReceivedRequest& head) {
  return refusal_of(head, access_);
}

HttpReply McpOverHttp::answer(ReceivedRequest request, std::uint64_t connection) {
  forget_idle_sessions();
  return request.method == "DELETE" ? close_session(request) : hear(request, connection);
}

// Without a session, a call is cancelled so; in one, the run goes on.
void McpOverHttp::gone(std::uint64_t connection) {
  world_.pool.cancel_all_of(2 * connection, ended_over_http("the client has closed the stream"));
}

HttpReply McpOverHttp::hear(const ReceivedRequest& request, std::uint64_t connection) {
  const auto messages = tools::mcp::read_messages(request.body, tools::mcp::Reading::strict);
  if (!messages || agent::trimmed(request.body).starts_with('[')) {
    const bool is_json = agent::parse_json(request.body).has_value();
    return refusal_reply(400,
                         {},
                         is_json ? tools::mcp::k_invalid_request : tools::mcp::k_parse_error,
                         messages ? "a request has one message" : messages.error());
  }
  const Message& message = messages->front();
  const std::string_view revision = header_of(request, "mcp-protocol-version");
  const bool is_older = revision.empty() || is_session_revision(revision);
  if (!is_older && !is_stateless(message) && !is_stateless_revision(revision)) {
    return json_reply(400, unspoken_revision(message.id, std::string(revision)).reply);
  }
  return is_stateless(message) || !is_older ? hear_stateless(request, message, connection)
                                            : hear_in_session(request, message, connection);
}

HttpReply McpOverHttp::hear_stateless(const ReceivedRequest& request,
                                      const Message& message,
                                      std::uint64_t connection) {
  if (message.kind != Message::Kind::request) {
    return {.status = 202};
  }
  if (const auto mismatch = header_mismatch(request.headers, message)) {
    return refusal_reply(400, message.id, tools::mcp::k_header_mismatch, *mismatch);
  }
  McpDialogue dialogue(world_.tools.tools(), ERRAND_VERSION);
  return heed(dialogue.hear_without_session(message), 2 * connection, connection, true);
}

HttpReply McpOverHttp::hear_in_session(const ReceivedRequest& request,
                                       const Message& message,
                                       std::uint64_t connection) {
  if (message.kind == Message::Kind::request && message.method == "initialize") {
    return open_session(request, message);
  }
  const std::string_view id = header_of(request, "mcp-session-id");
  if (id.empty()) {
    return refusal_reply(400,
                         message.id,
                         tools::mcp::k_invalid_request,
                         "`Mcp-Session-Id` is missing: `initialize` comes first");
  }
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) {
    return refusal_reply(
        404, message.id, tools::mcp::k_invalid_request, "there is no such session");
  }
  session->second.used = Steady::now();
  return heed(session->second.dialogue.hear(message), session->second.client, connection, false);
}

HttpReply McpOverHttp::open_session(const ReceivedRequest& request, const Message& message) {
  if (!header_of(request, "mcp-session-id").empty()) {
    return refusal_reply(400, message.id, tools::mcp::k_invalid_request, "`initialize` comes once");
  }
  if (sessions_.size() >= limits_.sessions && !forget_oldest_session()) {
    return refusal_reply(
        503, message.id, k_too_many_calls, "calls go on in too many sessions; try again later");
  }
  Session session{.dialogue = McpDialogue(world_.tools.tools(), ERRAND_VERSION),
                  .client = last_client_ = last_client_ == 0 ? 1 : last_client_ + 2,
                  .used = Steady::now()};
  const Reaction reaction = session.dialogue.hear(message);
  HttpReply reply = json_reply(200, reaction.reply);
  if (reaction.error_code == 0) {
    const auto random = agent::random_bytes(k_session_id_bytes);
    if (!random) {
      return plain(503, random.error().message);
    }
    std::string id = agent::to_base64url(*random);
    reply.headers.emplace_back("Mcp-Session-Id", id);
    sessions_.emplace(std::move(id), std::move(session));
  }
  return reply;
}

HttpReply McpOverHttp::close_session(const ReceivedRequest& request) {
  const auto session = sessions_.find(header_of(request, "mcp-session-id"));
  if (session == sessions_.end()) {
    return plain(404, "there is no such session");
  }
  world_.pool.cancel_all_of(session->second.client,
                            ended_over_http("the client has closed the session"));
  sessions_.erase(session);
  return {.status = 204};
}

HttpReply McpOverHttp::heed(const Reaction& reaction,
                            std::uint64_t client,
                            std::uint64_t connection,
                            bool is_stateless) {
  if (reaction.cancelled) {
    world_.pool.cancel({.client = client, .id = agent::dump(*reaction.cancelled)},
                       ended_over_http("the client has cancelled the call"));
  }
  if (reaction.call) {
    return begin(*reaction.call, client, connection);
  }
  if (reaction.reply.empty()) {
    return {.status = 202};
  }
  return json_reply(is_stateless ? status_of_error(reaction.error_code) : 200, reaction.reply);
}

HttpReply McpOverHttp::begin(const AskedCall& call,
                             std::uint64_t client,
                             std::uint64_t connection) {
  const auto progress = std::make_shared<CallProgress>(
      call, world_.redactor, [this, connection](const std::string& message) {
        world_.listener.write_if_idle(connection, event_of(message));
      });
  const auto taken = world_.pool.begin(
      {.client = client, .id = agent::dump(call.id)},
      call.takes_turns,
      [this, call, connection, progress](PooledCall& pooled) {
        perform(call, pooled, connection, *progress);
      },
      [progress](bool is_running) { progress->give_sign(is_running); });
  if (taken == CallPool::Taken::twice) {
    return refusal_reply(400, call.id, tools::mcp::k_invalid_request, "a call of this id goes on");
  }
  if (taken == CallPool::Taken::full) {
    return refusal_reply(
        503, call.id, k_too_many_calls, "too many calls go on already; try again later");
  }
  return {.status = 200,
          .headers = {{"Content-Type", std::string(k_events)}, {"Cache-Control", "no-cache"}},
          .is_stream = true};
}

void McpOverHttp::perform(const AskedCall& call,
                          PooledCall& pooled,
                          std::uint64_t connection,
                          CallProgress& progress) {
  const auto say = [&](std::string_view line) {
    if (pooled.is_wanted) {
      progress.say(line);
    }
  };
  const ServedResult result =
      world_.tools.call(call.tool, call.arguments, pooled.cancellation, say);
  const bool is_wanted = world_.pool.take_answered(pooled);
  world_.listener.write(connection, is_wanted ? event_of(call_reply(call, result)) : "", true);
}

// Those whose runs go on are in use.
void McpOverHttp::forget_idle_sessions() {
  const auto now = Steady::now();
  std::erase_if(sessions_, [&](const auto& one) {
    return now - one.second.used > limits_.idle && !world_.pool.has_any_of(one.second.client);
  });
}

// Many clients never close theirs. One that comes back reads 404, and begins another.
bool McpOverHttp::forget_oldest_session() {
  auto oldest = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    if (!world_.pool.has_any_of(at->second.client) &&
        (oldest == sessions_.end() || at->second.used < oldest->second.used)) {
      oldest = at;
    }
  }
  if (oldest == sessions_.end()) {
    return false;
  }
  sessions_.erase(oldest);
  return true;
}

}  // namespace cli
