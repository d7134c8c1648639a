// What a client of an HTTP proxy asks for, read from the head of its first request (RFC 9110 and
// 9112). What follows on the connection is between it and the server.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

struct ProxyRequest {
  std::string host;  // in its canonical form (HostPort)
  int port = 0;
  // What the server is sent in place of the head; empty: the client wants a tunnel (CONNECT).
  std::string head;

  bool is_tunnel() const { return head.empty(); }
};

constexpr std::size_t k_longest_head = 64u << 10;

// Bytes of the head with its empty line; 0: it is not all there.
std::size_t head_size(std::string_view bytes);

// Of a whole head. tool.invalid_parameters: what an HTTP proxy cannot act on, in one line.
agent::Result<ProxyRequest> read_proxy_request(std::string_view head);

}  // namespace tools
