// The server's side of the Model Context Protocol with one client: a message in, what it comes to
// out. Which bytes come from where is the transport's, and who runs calls is not its matter.
#pragma once
#include "agent/json.h"
#include "cli/serve/served_tool.h"
#include "tools/mcp/message.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// A call that a client has asked for.
struct AskedCall {
  agent::Json id;
  std::string tool;
  agent::Json arguments;       // an object
  agent::Json progress_token;  // null: nobody wants to hear of progress
  bool is_stateless = false;
  bool takes_turns = false;  // as ServedTool's
};

struct Reaction {
  std::string reply;                     // one message; empty: none is due now
  std::int64_t error_code = 0;           // of the reply; 0: it is no error
  std::optional<AskedCall> call;         // to be begun, and answered by call_reply()
  std::optional<agent::Json> cancelled;  // the id of a call that nobody wants any more
};

// What one line, or one body, comes to.
struct Heard {
  std::vector<Reaction> reactions;  // to each of its messages
  bool is_list = false;             // what is answered goes in one list, too
};

class McpDialogue {
 public:
  // The tools are borrowed.
  McpDialogue(std::span<const ServedTool> tools, std::string errand_version)
      : tools_(tools), version_(std::move(errand_version)) {}

  // One line, or one body: a message, or, in the one revision that has them, a list of messages.
  Heard hear(std::string_view text);

  // One message; the second: it is of the protocol without sessions, also where it does not say so.
  Reaction hear(const tools::mcp::Message& message);
  Reaction hear_without_session(const tools::mcp::Message& message);

  // What initialize has agreed on; empty: nothing yet.
  std::string_view revision() const { return revision_; }

 private:
  Reaction hear_one(agent::Json json);
  Reaction hear_in_session(const tools::mcp::Message& message);
  Reaction hear_stateless(const tools::mcp::Message& message);
  static std::optional<Reaction> refusal(const tools::mcp::Message& request);
  Reaction initialize(const tools::mcp::Message& message);
  Reaction discover(const tools::mcp::Message& message) const;
  Reaction list(const tools::mcp::Message& message, bool is_stateless) const;
  Reaction call(const tools::mcp::Message& message, bool is_stateless) const;
  Reaction done(const tools::mcp::Message& message, agent::Json result, bool is_stateless) const;
  agent::Json server_info() const;

  std::span<const ServedTool> tools_;
  std::string version_;
  std::string revision_;
};

constexpr std::int64_t k_too_many_calls = -32000;

// Whether a message is of the protocol without sessions: it says its revision itself.
bool is_stateless(const tools::mcp::Message& message);

// With a handshake, and without.
bool is_session_revision(std::string_view revision);
bool is_stateless_revision(std::string_view revision);

Reaction refused(const agent::Json& id,
                 std::int64_t code,
                 std::string_view message,
                 const agent::Json& data = {});

// The answer to one who speaks another revision, with those that are spoken.
Reaction unspoken_revision(const agent::Json& id, const agent::Json& revision);

std::string call_reply(const AskedCall& call, const ServedResult& result);
// `count`: how much was said before, and this.
std::string progress_message(const AskedCall& call, std::int64_t count, std::string_view line);

}  // namespace cli
