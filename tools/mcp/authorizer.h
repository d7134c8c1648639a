// Who gives requests to an MCP server their Authorization header. The transport is written against
// this, and knows nothing of OAuth.
#pragma once
#include "agent/json.h"
#include "agent/result.h"

#include <stop_token>
#include <string>
#include <string_view>

namespace tools::mcp {

// Of one server. Thread-safe: many requests may ask at once. The messages of its errors are clauses
// that follow the server's name.
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // The value of the header ("Bearer …") for requests to that server; empty: none is known, ask
  // without. Errors: mcp.auth, mcp.connection, run.cancelled.
  virtual agent::Result<std::string> authorization(std::stop_token stop) = 0;

  // After a 401 or 403 with this WWW-Authenticate (may be empty): true where another try may
  // succeed (a token was got or refreshed, more scopes were got). `token_used` is what
  // authorization() gave that request: where it has since been replaced, nothing is fetched. It
  // counts the tries itself, and ends a circle with an error. Errors: mcp.auth with what to do
  // (`errand mcp login SERVER`), mcp.connection, run.cancelled.
  virtual agent::Result<bool> challenged(int status,
                                         std::string_view www_authenticate,
                                         std::string_view token_used,
                                         std::stop_token stop) = 0;

  // Of whom a token is being asked for at this moment, an address; empty: of nobody.
  virtual std::string asks() const { return {}; }

  // That its login is over and why, in a clause as above; empty: it is not, or there is none. What
  // is over is not renewed any more.
  virtual std::string end_of_login() const { return {}; }

  // Takes the tokens that it has given or used out of what comes of the server.
  virtual void redact(std::string& text) const = 0;
  virtual void redact(agent::Json& value) const = 0;
};

}  // namespace tools::mcp
