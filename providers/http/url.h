// A URL of a server, taken apart for checks and messages. No network here.
#pragma once
#include "agent/result.h"

#include <string>

namespace providers {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // IPv6 in brackets
  std::string port;    // the scheme's default where none was written
  bool has_credentials = false;
  bool has_query = false;  // a query or a fragment

  std::string authority() const { return host + ":" + port; }
  bool is_loopback() const;
};

// An Error of `code` where `text` is no absolute http or https URL; its message says why.
agent::Result<Url> parse_url(const std::string& text, agent::Code code);

// The URL without user name and password, for messages.
std::string without_credentials(const std::string& url);

// The host of a URL that need not be well-formed: no scheme, user, port or path.
std::string_view host_of(std::string_view url);

}  // namespace providers
