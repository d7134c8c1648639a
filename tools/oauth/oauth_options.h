// What OAuth for one MCP server is told by the program around it.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/oauth/login_store.h"
#include "tools/oauth/oauth_client.h"
#include "tools/web/url.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace tools::oauth {

struct OAuthOptions {
  std::string name;  // of the server in the agent file
  Url server;
  agent::McpOAuthSpec spec;
  agent::Headers headers = {};    // of each request to the server
  std::filesystem::path folder;   // of logins; empty: none are kept
  agent::Http* http = nullptr;    // borrowed, required
  agent::Clock* clock = nullptr;  // likewise
  std::string login_command;      // "errand mcp login agent.yaml crm", for messages
  // Whether the user lets the agent file's secret go to this address. Required.
  std::function<agent::Result<void>(const std::string& address)> may_have_secret;
  // The same of what the environment has put into the rest of `oauth`, and into the server's own
  // address, of which those who make logins are told. Empty: nothing.
  std::function<agent::Result<void>(const std::string& address)> may_be_told = {};
};

// Of the user, the server and the client: an agent file that names another client has another one.
inline LoginStore login_store_of(const OAuthOptions& options) {
  return {options.folder, {options.server.text(), options.spec.client_id, options.spec.issuer}};
}

// The client that the agent file names. mcp.auth; config.invalid where the user does not let its
// secret go to the endpoint.
agent::Result<Client> own_client(const OAuthOptions& options, const ServerMetadata& server);
// How it said who it is when the login was made. Errors as above.
agent::Result<Client> client_of(const OAuthOptions& options, const Login& login);

// Whether those at an address may be told who asks, for what rights, and for what server.
// config.invalid.
agent::Result<void> check_may_tell(const OAuthOptions& options, const std::string& address);
// The same of the issuer that the agent file names, which is asked first.
agent::Result<void> check_issuer(const OAuthOptions& options);

// What tokens change in a login. `asked_for` are the scopes where the answer names none.
void take_tokens(const OAuthOptions& options,
                 const Tokens& tokens,
                 const std::vector<std::string>& asked_for,
                 Login& login);

// Those of the agent file and of the challenge, else those of the server's metadata.
std::vector<std::string> scopes_to_ask_for(const OAuthOptions& options,
                                           const Challenge& challenge,
                                           const ResourceMetadata& resource);

}  // namespace tools::oauth
