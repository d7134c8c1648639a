// A person's login for one MCP server, in the browser: the authorization code grant, with PKCE.
#pragma once
#include "agent/result.h"
#include "tools/oauth/callback_listener.h"
#include "tools/oauth/oauth_options.h"

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

namespace tools::oauth {

struct LoginDesk {
  CallbackListener& listener;  // borrowed
  std::chrono::milliseconds patience{300'000};
  std::function<void(const std::string& address)> show;  // the page where a person logs in
};

// Asks the server where to log in, waits for the answer, and keeps the login. Errors: mcp.auth,
// mcp.connection, config.invalid (a secret may not go where it is wanted), storage.io,
// run.cancelled.
agent::Result<Login> log_in(const OAuthOptions& options,
                            const LoginDesk& desk,
                            const std::stop_token& stop);

// The code of the answer. mcp.auth: the server refused, or the answer is not of that issuer
// (RFC 9207).
agent::Result<std::string> code_of(const CallbackParameters& answer, const ServerMetadata& server);

}  // namespace tools::oauth
