#include "tools/oauth/oauth_options.h"

#include <chrono>

namespace tools::oauth {

using agent::Result;

namespace {

bool has_own_secret(const agent::McpOAuthSpec& spec) {
  return !spec.client_secret.empty() || !spec.private_key.empty();
}

}  // namespace

Result<Client> own_client(const OAuthOptions& options, const ServerMetadata& server) {
  const agent::McpOAuthSpec& spec = options.spec;
  Client client{.id = spec.client_id,
                .secret = spec.client_secret,
                .private_key = spec.private_key,
                .auth = {}};
  TRY_ASSIGN(client.auth, client_auth_of(client, {}, server));
  if (has_own_secret(spec)) {
    TRY(options.may_have_secret(server.token_endpoint));
  }
  return client;
}

Result<Client> client_of(const OAuthOptions& options, const Login& login) {
  const agent::McpOAuthSpec& spec = options.spec;
  if (spec.client_id.empty()) {
    return Client{.id = login.client_id,
                  .secret = login.client_secret,
                  .private_key = {},
                  .auth = login.client_auth};
  }
  if (has_own_secret(spec)) {
    TRY(options.may_have_secret(login.token_endpoint));
  }
  return Client{.id = spec.client_id,
                .secret = spec.client_secret,
                .private_key = spec.private_key,
                .auth = login.client_auth};
}

Result<void> check_may_tell(const OAuthOptions& options, const std::string& address) {
  return options.may_be_told ? options.may_be_told(address) : Result<void>();
}

Result<void> check_issuer(const OAuthOptions& options) {
  return options.spec.issuer.empty() ? Result<void>()
                                     : check_may_tell(options, options.spec.issuer);
}

void take_tokens(const OAuthOptions& options,
                 const Tokens& tokens,
                 const std::vector<std::string>& asked_for,
                 Login& login) {
  login.access_token = tokens.access_token;
  if (!tokens.refresh_token.empty()) {
    login.refresh_token = tokens.refresh_token;
  }
  login.scopes = tokens.scopes.value_or(asked_for);
  login.got =
      std::chrono::duration_cast<std::chrono::seconds>(options.clock->wall().time_since_epoch())
          .count();
  login.expires = tokens.lifetime > 0 ? login.got + tokens.lifetime : 0;
}

std::vector<std::string> scopes_to_ask_for(const OAuthOptions& options,
                                           const Challenge& challenge,
                                           const ResourceMetadata& resource) {
  auto scopes = united(options.spec.scopes, challenge.scopes);
  return scopes.empty() ? resource.scopes : scopes;
}

}  // namespace tools::oauth
