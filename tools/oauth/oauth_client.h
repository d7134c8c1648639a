// The requests of OAuth: metadata, registration, tokens. Nothing is kept here, and no redirect is
// followed.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/result.h"
#include "tools/oauth/challenge.h"
#include "tools/oauth/form.h"
#include "tools/oauth/metadata.h"

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools::oauth {

struct Discovery {
  ResourceMetadata resource;
  ServerMetadata server;
};

// Who asks for tokens.
struct Client {
  std::string id;
  std::string secret;       // empty: none
  std::string private_key;  // PEM; likewise
  std::string auth;  // "none", "client_secret_basic", "client_secret_post", "private_key_jwt"
};

struct Tokens {
  std::string access_token;
  std::string refresh_token;                       // empty: none
  std::int64_t lifetime = 0;                       // seconds; 0: not said
  std::optional<std::vector<std::string>> scopes;  // nullopt: those that were asked for
};

// What a token endpoint answered: tokens, or its word for why not.
struct TokenAnswer {
  Tokens tokens;
  std::string error;        // "invalid_grant"; empty: there are tokens
  std::string description;  // of the error, for people
};

// A 2xx body, where some servers refuse, too, or one of 400 and 401. mcp.auth: neither tokens of
// the kind that are spoken here nor an error.
agent::Result<TokenAnswer> read_token_answer(std::string_view body, bool is_success);
// How a client with this secret, key or neither says who it is; `registered` is what its
// registration says, empty where it says nothing. mcp.auth: in no way that the server takes.
agent::Result<std::string> client_auth_of(const Client& client,
                                          std::string_view registered,
                                          const ServerMetadata& server);

// All of its errors: mcp.auth, mcp.connection (no answer, or one of a server in trouble),
// run.cancelled. Thread-safe.
class OAuthClient {
 public:
  // `http` and `clock` are borrowed; `headers` go to the MCP server alone.
  OAuthClient(agent::Http& http, agent::Clock& clock, Url server, agent::Headers headers = {})
      : http_(http), clock_(clock), server_(std::move(server)), headers_(std::move(headers)) {}

  // Both metadata; with an issuer, that one and no other.
  agent::Result<Discovery> discover(const Challenge& challenge,
                                    const std::string& issuer,
                                    const std::stop_token& stop) const;
  // Makes a client of the authorization server's for this one redirect.
  agent::Result<Client> register_client(const ServerMetadata& server,
                                        const std::string& redirect,
                                        const std::stop_token& stop) const;
  // `issuer` is whom a signed assertion is for.
  agent::Result<TokenAnswer> ask_for_tokens(const std::string& endpoint,
                                            const std::string& issuer,
                                            Form form,
                                            const Client& client,
                                            const std::stop_token& stop) const;
  // What the MCP server says to one who is not logged in.
  agent::Result<Challenge> ask_for_challenge(const std::stop_token& stop) const;

  const Url& server() const { return server_; }

 private:
  agent::Result<agent::HttpResponse> send(std::string_view method,
                                          const std::string& url,
                                          agent::Headers headers,
                                          std::string_view body,
                                          const std::stop_token& stop,
                                          const agent::OnData& on_data = {}) const;
  agent::Headers with_own(agent::Headers headers) const;
  agent::Result<std::optional<std::string>> get_first(const std::vector<std::string>& places,
                                                      const agent::Headers& headers,
                                                      const std::stop_token& stop) const;
  agent::Result<std::optional<ResourceMetadata>> resource_metadata(
      const Challenge& challenge, const std::stop_token& stop) const;
  agent::Result<void> identify(const Client& client,
                               const std::string& issuer,
                               agent::Headers& headers,
                               Form& form) const;

  agent::Http& http_;
  agent::Clock& clock_;
  Url server_;
  agent::Headers headers_;
};

}  // namespace tools::oauth
