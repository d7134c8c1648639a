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
  bool has_path = false;   // more than "/"
  bool has_zone = false;   // of an IPv6 address

  std::string authority() const { return host + ":" + port; }
  bool is_loopback() const;  // localhost, 127.0.0.0/8 or ::1
};

// A server in the one form in which two of them are compared.
struct Origin {
  std::string text;  // "https://host", with ":port" where that is not the scheme's own
  bool is_loopback = false;

  bool operator==(const Origin&) const = default;
};

// An Error of `code` where `text` is no absolute http or https URL; its message says why.
agent::Result<Url> parse_url(const std::string& text, agent::Code code);

// What libcurl connects to for this URL. An Error of `code` where the host is not one that every
// reader of URLs takes for the same: characters beside letters, digits, - _ and ., a dot at its
// end, an address with a zone; and where there is a user name or a password.
agent::Result<Origin> origin_of(const std::string& url, agent::Code code);

// The proxy for this URL: none for this machine, where the proxy may be another one's machine.
std::string proxy_for(const std::string& url, const std::string& proxy);

// The URL without user name and password, for messages.
std::string without_credentials(const std::string& url);

// The host of a URL that need not be well-formed: no scheme, user, port or path.
std::string_view host_of(std::string_view url);

}  // namespace providers
