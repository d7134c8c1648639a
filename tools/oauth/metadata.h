// What an MCP server says of its authorization servers (RFC 9728), and what these say of
// themselves (RFC 8414, OpenID Connect Discovery). Read, checked, and nothing of it believed that
// is about somebody else. No network here.
#pragma once
#include "agent/result.h"
#include "tools/web/url.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools::oauth {

struct ResourceMetadata {
  std::string resource;              // as it is written there: what tokens are asked for
  std::vector<std::string> servers;  // issuers; at least one. Nobody has checked these addresses
  std::vector<std::string> scopes;
};

struct ServerMetadata {
  std::string issuer;
  std::string authorization_endpoint;  // empty: nobody can log in there
  std::string token_endpoint;
  std::string registration_endpoint;             // empty: none
  std::vector<std::string> scopes;               // empty: not said
  std::vector<std::string> client_auth_methods;  // likewise
  bool has_s256 = false;
  bool takes_metadata_documents = false;  // an https address as the client's id
  bool says_issuer = false;               // in the answer to a login (RFC 9207)
};

// An address that may be asked: https; of this machine also http, and only where the MCP server is
// on it, too. mcp.auth; `what` is for its message.
agent::Result<Url> check_address(std::string_view text, std::string_view what, const Url& server);
bool is_loopback(const Url& url);

// Where the metadata may be, the first place that has any counts.
std::vector<std::string> resource_metadata_places(const Url& server);
std::vector<std::string> server_metadata_places(const Url& issuer);

// mcp.auth: no JSON object of this kind, about another resource than that server, or another issuer
// than who was asked for; or an address in it that may not be asked.
agent::Result<ResourceMetadata> read_resource_metadata(std::string_view text, const Url& server);
agent::Result<ServerMetadata> read_server_metadata(std::string_view text,
                                                   std::string_view issuer,
                                                   const Url& server);

}  // namespace tools::oauth
