// The Model Context Protocol over Streamable HTTP: which requests are heard, and from whom.
#pragma once
#include "agent/cancellation.h"
#include "agent/secrets/redact.h"
#include "cli/serve/call_pool.h"
#include "cli/serve/call_progress.h"
#include "cli/serve/http_listener.h"
#include "cli/serve/mcp_dialogue.h"
#include "cli/serve/served_tool.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cli {

struct HttpAccess {
  std::string token;            // that every request has to bring; empty: none
  std::set<std::string> hosts;  // that a request may be for, in lower case; empty: any
};

// By which names a server at that address is asked for.
std::set<std::string> hosts_of(const std::string& address);
bool is_loopback(const std::string& address);

// Why this request is none for here; nullopt: its body may come. `head` as RequestReader has it.
std::optional<HttpReply> refusal_of(const ReceivedRequest& head, const HttpAccess& access);

// What the headers of a request without a session say otherwise than its message; nullopt: nothing.
std::optional<std::string> header_mismatch(const agent::Headers& headers,
                                           const tools::mcp::Message& message);

class McpOverHttp final : public HttpHandler {
 public:
  struct World {  // borrowed
    HttpListener& listener;
    ServedTools& tools;
    CallPool& pool;
    const agent::Redactor& redactor;
  };
  struct Limits {
    std::size_t sessions = 64;
    std::chrono::minutes idle{60};  // of a session
  };

  McpOverHttp(World world, HttpAccess access, Limits limits)
      : world_(world), access_(std::move(access)), limits_(limits) {}

  std::optional<HttpReply> refusal(const ReceivedRequest& head) override;
  HttpReply answer(ReceivedRequest request, std::uint64_t connection) override;
  void gone(std::uint64_t connection) override;

 private:
  using Steady = std::chrono::steady_clock;
  struct Session {
    McpDialogue dialogue;
    std::uint64_t client = 0;
    Steady::time_point used;
  };

  HttpReply hear(const ReceivedRequest& request, std::uint64_t connection);
  HttpReply hear_stateless(const ReceivedRequest& request,
                           const tools::mcp::Message& message,
                           std::uint64_t connection);
  HttpReply hear_in_session(const ReceivedRequest& request,
                            const tools::mcp::Message& message,
                            std::uint64_t connection);
  HttpReply open_session(const ReceivedRequest& request, const tools::mcp::Message& message);
  HttpReply close_session(const ReceivedRequest& request);
  HttpReply heed(const Reaction& reaction,
                 std::uint64_t client,
                 std::uint64_t connection,
                 bool is_stateless);
  HttpReply begin(const AskedCall& call, std::uint64_t client, std::uint64_t connection);
  void perform(const AskedCall& call,
               PooledCall& pooled,
               std::uint64_t connection,
               CallProgress& progress);
  void forget_idle_sessions();
  bool forget_oldest_session();  // false: calls go on in all of them

  World world_;
  const HttpAccess access_;
  const Limits limits_;
  std::map<std::string, Session, std::less<>> sessions_;
  std::uint64_t last_client_ = 0;  // odd numbers are sessions, even ones connections
};

}  // namespace cli
