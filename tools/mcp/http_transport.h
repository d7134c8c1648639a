// An MCP server that is reached by HTTP: Streamable HTTP, with a session or without, and the form
// before it, which has one stream for all answers.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/spec.h"
#include "tools/mcp/authorizer.h"
#include "tools/mcp/transport.h"

#include <memory>
#include <string>

namespace tools::mcp {

struct HttpEndpoint {
  std::string url;
  agent::Headers headers;      // the user's own, with each request
  bool is_older_form = false;  // else that is tried where the newer one is refused
  agent::Milliseconds start{30'000};
  agent::Milliseconds longest{300'000};  // that any request may take

  agent::Http* http = nullptr;       // borrowed, required
  Authorizer* authorizer = nullptr;  // borrowed; null: `headers` are all that there is
};

// Reaches nothing yet.
std::unique_ptr<Transport> open_http(HttpEndpoint endpoint, Transport::Listener&& listener);

}  // namespace tools::mcp
