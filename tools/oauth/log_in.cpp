#include "tools/oauth/log_in.h"

#include "agent/base64.h"
#include "agent/random_bytes.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tools::oauth {
namespace {

using agent::Code;
using agent::Result;

constexpr std::size_t k_random = 32;  // bytes of a state and of a verifier

bool is_metadata_document(std::string_view client_id) {
  const auto url = parse_url(client_id);
  return url && url->scheme == "https" && url->path.size() > 1;
}

std::unexpected<agent::Error> refused(std::string message, std::string help = {}) {
  return agent::fail(Code::mcp_auth, std::move(message), std::move(help));
}

Result<void> check_server(const ServerMetadata& server) {
  if (server.authorization_endpoint.empty()) {
    return refused(fmt::format("nobody can log in at {}: it has no authorization endpoint",
                               agent::one_line(server.issuer, 200)),
                   "`grant: client_credentials` is for such servers");
  }
  if (!server.has_s256) {
    return refused(fmt::format("{} does not say that it has PKCE with S256",
                               agent::one_line(server.issuer, 200)));
  }
  return {};
}

// The agent file's, or one that is made for this login.
Result<Client> client_for(const OAuthOptions& options,
                          const OAuthClient& requests,
                          const ServerMetadata& server,
                          const std::string& redirect,
                          const std::stop_token& stop) {
  if (!options.spec.client_id.empty()) {
    if (is_metadata_document(options.spec.client_id) && !server.takes_metadata_documents) {
      return refused(fmt::format("{} does not say that it takes an address as `client_id`",
                                 agent::one_line(server.issuer, 200)),
                     "make a client there, and name it with `oauth: {client_id: …}`");
    }
    return own_client(options, server);
  }
  if (server.registration_endpoint.empty()) {
    return refused(
        fmt::format("{} registers no clients by itself", agent::one_line(server.issuer, 200)),
        "make one there, and name it with `oauth: {client_id: …}`");
  }
  return requests.register_client(server, redirect, stop);
}

Result<Login> fetch(const OAuthOptions& options,
                    const OAuthClient& requests,
                    const Discovery& found,
                    const Client& client,
                    Form form,
                    const std::vector<std::string>& scopes,
                    const std::stop_token& stop) {
  TRY_ASSIGN(const TokenAnswer answer,
             requests.ask_for_tokens(
                 found.server.token_endpoint, found.server.issuer, std::move(form), client, stop));
  if (!answer.error.empty()) {
    return refused(fmt::format("{} gives no token for the login: {} {}",
                               agent::one_line(found.server.issuer, 200),
                               answer.error,
                               answer.description));
  }
  Login login{.server = options.server.without_query(),
              .issuer = found.server.issuer,
              .resource = found.resource.resource,
              .token_endpoint = found.server.token_endpoint,
              .client_id = client.id,
              .client_secret = options.spec.client_id.empty() ? client.secret : std::string(),
              .client_auth = client.auth};
  take_tokens(options, answer.tokens, scopes, login);
  return login;
}

}  // namespace

Result<std::string> code_of(const CallbackParameters& answer, const ServerMetadata& server) {
  const auto of = [&](std::string_view name) {
    const auto found = answer.find(name);
    return found == answer.end() ? std::string() : found->second;
  };
  const bool has_issuer = answer.contains("iss");
  if ((has_issuer || server.says_issuer) && of("iss") != server.issuer) {
    return refused(fmt::format("the answer of the login is {}, and not of {}",
                               has_issuer ? "of " + agent::one_line(of("iss"), 200) : "of nobody",
                               agent::one_line(server.issuer, 200)));
  }
  if (const std::string error = of("error"); !error.empty()) {
    return refused(fmt::format("the login was refused: {} {}",
                               agent::one_line(error, 60),
                               agent::one_line(of("error_description"), 300)));
  }
  std::string code = of("code");
  if (code.empty()) {
    return refused("the answer of the login has no code");
  }
  return code;
}

Result<Login> log_in(const OAuthOptions& options,
                     const LoginDesk& desk,
                     const std::stop_token& stop) {
  const OAuthClient requests(*options.http, *options.clock, options.server, options.headers);
  const LoginStore store = login_store_of(options);
  TRY(check_issuer(options));
  TRY_ASSIGN(Challenge challenge, requests.ask_for_challenge(stop));
  if (const auto before = store.load(); before && *before) {  // a damaged one is replaced
    challenge.scopes = united(challenge.scopes, (*before)->wanted);
  }
  TRY_ASSIGN(const Discovery found, requests.discover(challenge, options.spec.issuer, stop));
  TRY(check_server(found.server));
  for (const std::string* endpoint :
       {&found.server.authorization_endpoint, &found.server.token_endpoint}) {
    TRY(check_may_tell(options, *endpoint));
  }
  const std::string redirect = desk.listener.redirect();
  TRY_ASSIGN(const Client client, client_for(options, requests, found.server, redirect, stop));
  std::vector<std::string> scopes = scopes_to_ask_for(options, challenge, found.resource);
  if (has_word(found.server.scopes, "offline_access")) {
    scopes = united(std::move(scopes), {"offline_access"});  // for a token that renews
  }
  TRY_ASSIGN(const std::string random, agent::random_bytes(2 * k_random));
  const std::string state = agent::to_base64url(std::string_view(random).substr(k_random));
  const Pkce pkce = pkce_of(std::string_view(random).substr(0, k_random));
  Form query = {{"response_type", "code"},
                {"client_id", client.id},
                {"redirect_uri", redirect},
                {"state", state},
                {"code_challenge", pkce.challenge},
                {"code_challenge_method", "S256"},
                {"resource", found.resource.resource}};
  if (!scopes.empty()) {
    query.emplace_back("scope", join_scopes(scopes));
  }
  desk.show(with_query(found.server.authorization_endpoint, query));
  TRY_ASSIGN(const auto answer, desk.listener.wait(state, desk.patience, stop));
  TRY_ASSIGN(const std::string code, code_of(answer, found.server));
  TRY_ASSIGN(Login login,
             fetch(options,
                   requests,
                   found,
                   client,
                   {{"grant_type", "authorization_code"},
                    {"code", code},
                    {"redirect_uri", redirect},
                    {"code_verifier", pkce.verifier},
                    {"resource", found.resource.resource}},
                   scopes,
                   stop));
  TRY_ASSIGN(const agent::Descriptor lock, store.lock(*options.clock, stop));
  TRY(store.save(login));
  return login;
}

}  // namespace tools::oauth
