// Where a browser comes back to after a login: a listener on this machine's own address, for one
// answer.
#pragma once
#include "agent/descriptor.h"
#include "agent/result.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tools::oauth {

using CallbackParameters = std::map<std::string, std::string, std::less<>>;

// The target of a request's first line; nullopt: it is no whole GET of the callback's path. What is
// behind the first line does not count.
std::optional<CallbackParameters> read_callback(std::string_view request);

class CallbackListener {
 public:
  // On 127.0.0.1; port 0: any that is free. os.failed.
  static agent::Result<CallbackListener> open(int port);

  // What the authorization server is told: "http://127.0.0.1:PORT/callback".
  std::string redirect() const;

  // The parameters of the first request that has this `state`. Others are refused and change
  // nothing, and so are those that are slow, too long, or not HTTP. mcp.auth: nobody came in time;
  // run.cancelled.
  agent::Result<CallbackParameters> wait(std::string_view state,
                                         std::chrono::milliseconds most,
                                         const std::stop_token& stop);

 private:
  CallbackListener(agent::Descriptor socket, int port) : socket_(std::move(socket)), port_(port) {}

  agent::Descriptor socket_;
  int port_;
};

}  // namespace tools::oauth
