// How messages go to an MCP server and come from it. What they mean is the session's.
#pragma once
#include "agent/http.h"
#include "agent/result.h"
#include "tools/mcp/agreement.h"
#include "tools/mcp/message.h"
#include "tools/process/program_runner.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace tools::mcp {

// One message for the server.
struct Outgoing {
  std::string text;
  std::int64_t id = 0;          // of a request; 0: no answer is waited for
  std::string method = {};      // empty: it is the answer to a request of the server's
  std::string name = {};        // of the tool, prompt or resource that it is about
  agent::Headers mirrors = {};  // arguments that the server wants in headers, too
};

class Transport {
 public:
  // Called on threads of the transport's own, none after its end.
  struct Listener {
    std::function<void(Message message)> on_message;
    // That request will not be answered. mcp.transport or mcp.auth; `http_status` where there was
    // one. `ended`: how, where nothing that is sent from now on will be, either; else empty.
    std::function<void(std::int64_t id, agent::Error error, std::string ended)> on_failed;
    // It wrote what is no message; on one line, cut.
    std::function<void(std::string noise)> on_noise;
    // Nothing will be answered any more; once, or never.
    std::function<void(TalkingProgram::Ended ended)> on_end;
  };

  // Ends it, and waits for that.
  virtual ~Transport() = default;
  // Does not wait. Thread-safe, as the rest is.
  virtual void send(Outgoing message) = 0;
  // From now on the server is spoken to in these terms. `notification` (empty: none) is what tells
  // it so, and is there before anything that is sent later: but for a server that takes longer than
  // `until`, or than a while, to take it.
  virtual void agree(const Agreement& agreement,
                     std::string notification,
                     std::chrono::steady_clock::time_point until,
                     std::stop_token stop) = 0;
  // Sends a request whose answer, as long as the session lasts, is what the server says by itself.
  // `next` makes it: where its stream breaks, there is another one. Only after agree().
  virtual void keep_asking(std::function<Outgoing()> next) = 0;
  // Nobody waits any more for the answer to that request, and the notification says so.
  virtual void cancel(std::int64_t id, std::string notification) = 0;
  // Asks the server to end, without waiting.
  virtual void close() = 0;
  virtual std::string last_words() const = 0;  // in a sentence's end, for messages; may be empty
  // What it has begun to write and not ended yet, on one line; empty: there is nothing.
  virtual std::string unfinished() const { return {}; }
  // Of whom a token for the server is being asked for at this moment; empty: of nobody.
  virtual std::string asks_for_token() const { return {}; }
  // Whether it can be one that knows no handshake.
  virtual bool may_be_stateless() const { return true; }
};

using OpenTransport =
    std::function<agent::Result<std::unique_ptr<Transport>>(Transport::Listener&&)>;

}  // namespace tools::mcp
