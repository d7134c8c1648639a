// Many clients, on a port.
#pragma once
#include "agent/cancellation.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "cli/serve/call_pool.h"
#include "cli/serve/served_tool.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cli {

struct HttpPlace {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
};

// "8123", "127.0.0.1:8123", "[::1]:8123". cli.usage.
agent::Result<HttpPlace> http_place(std::string_view text);

struct HttpWorld {
  HttpPlace place;
  std::string token;  // that every request has to bring; empty: none
  // Borrowed.
  ServedTools& tools;
  CallPool& pool;
  const agent::Redactor& redactor;
  agent::Cancellation& cancellation;  // of the whole
  std::function<void(const std::string& url)> tell_url;
};

// Returns when the whole is stopped, and all calls have ended. cli.usage for an address that others
// can reach and no token; os.failed where the port cannot be had.
agent::Result<void> serve_http(const HttpWorld& world);

}  // namespace cli
