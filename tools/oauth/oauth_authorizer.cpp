#include "tools/oauth/oauth_authorizer.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

namespace tools::oauth {
namespace {

using agent::Code;
using agent::Result;

constexpr std::size_t k_most_refusals = 3;   // of new tokens
constexpr std::size_t k_most_step_ups = 10;  // tools may each want a scope of their own
constexpr std::chrono::minutes k_try_span{1};
constexpr std::int64_t k_margin = 30;  // seconds before its end a token is renewed
// That a token which is being renewed is waited for at the end: a server that has replaced the old
// one takes that for stolen where it sees it again.
constexpr std::chrono::seconds k_grace{1};
constexpr std::string_view k_bearer = "Bearer ";

// What is said of others, in a clause that follows the name of the MCP server.
template <typename T>
Result<T> as_clause(Result<T> result) {
  if (!result && result.error().code != Code::run_cancelled) {
    result.error().message = "cannot be given a token: " + result.error().message;
  }
  return result;
}

bool is_of_last_minute(agent::Clock::Steady time, agent::Clock::Steady now) {
  return time + k_try_span > now;
}

void forget_older(std::deque<agent::Clock::Steady>& times, agent::Clock::Steady now) {
  std::erase_if(times, [&](agent::Clock::Steady time) { return !is_of_last_minute(time, now); });
}

std::string_view without_scheme(std::string_view authorization) {
  return authorization.starts_with(k_bearer) ? authorization.substr(k_bearer.size())
                                             : authorization;
}

}  // namespace

// Of many threads one asks and writes; the others wait for what comes of it.
class OAuthAuthorizer::Turn {
 public:
  static Result<std::shared_ptr<Turn>> take(OAuthAuthorizer& owner, const std::stop_token& stop) {
    std::unique_lock lock(owner.mutex_);
    if (!owner.free_.wait(lock, stop, [&] { return !owner.is_busy_; })) {
      return agent::fail(Code::run_cancelled, "stopped while waiting for a token");
    }
    auto turn = std::make_shared<Turn>(owner);
    owner.is_busy_ = true;
    return turn;
  }
  explicit Turn(OAuthAuthorizer& owner) : owner_(owner) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.is_busy_ = false;
    owner_.free_.notify_all();
  }

 private:
  OAuthAuthorizer& owner_;
};

// What is being done for whoever waits for it, and is done also where nobody does any more.
struct OAuthAuthorizer::Renewal {
  std::mutex mutex;
  std::condition_variable_any done;
  std::optional<Result<bool>> result;  // under the mutex
};

OAuthAuthorizer::~OAuthAuthorizer() {
  {
    std::unique_lock lock(mutex_);
    free_.wait_for(lock, k_grace, [&] { return !is_busy_; });
  }
  renewing_ = {};  // is stopped, and waited for
}

// While it lives, somebody is asked for a token.
class OAuthAuthorizer::Asking {
 public:
  class Http;

  Asking(OAuthAuthorizer& owner, const std::string& whom) : owner_(owner) { tell(whom); }
  ~Asking() { tell({}); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  void tell(const std::string& whom) {
    const std::lock_guard lock(owner_.told_mutex_);
    owner_.asked_ = whom;
  }

  OAuthAuthorizer& owner_;
};

// Who is asked is known from the request, where one answer says where the next is to be had.
class OAuthAuthorizer::Asking::Http final : public agent::Http {
 public:
  explicit Http(OAuthAuthorizer& owner) : owner_(owner) {}

  Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                   const agent::OnData& on_data,
                                   std::stop_token stop) override {
    const Asking asking(owner_, request.url);
    return owner_.options_.http->send(request, on_data, std::move(stop));
  }

 private:
  OAuthAuthorizer& owner_;
};

std::string OAuthAuthorizer::asks() const {
  const std::lock_guard lock(told_mutex_);
  return asked_;
}

bool OAuthAuthorizer::gets_tokens_itself() const {
  return options_.spec.grant == agent::McpOAuthSpec::Grant::client_credentials;
}

// What a client gets by itself is not kept: it can be had again at any time.
Result<void> OAuthAuthorizer::load() {
  if (gets_tokens_itself() || options_.folder.empty()) {
    return {};
  }
  TRY_ASSIGN(auto login, as_clause(store_.load()));
  login_ = std::move(login).value_or(Login{});
  know_secrets_of(login_);
  return {};
}

void OAuthAuthorizer::know_secrets_of(const Login& login) {
  const std::lock_guard lock(secrets_mutex_);
  for (const std::string& secret : {login.access_token, login.refresh_token, login.client_secret}) {
    secrets_.add(secret);
  }
}

void OAuthAuthorizer::redact(std::string& text) const {
  const std::shared_lock lock(secrets_mutex_);
  text = secrets_.apply(text);
}

void OAuthAuthorizer::redact(agent::Json& value) const {
  const std::shared_lock lock(secrets_mutex_);
  secrets_.redact(value);
}

bool OAuthAuthorizer::is_stale() const {
  if (login_.access_token.empty() || login_.expires == 0) {
    return false;
  }
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(options_.clock->wall().time_since_epoch())
          .count();
  return now >= login_.expires - std::min(k_margin, (login_.expires - login_.got) / 4);
}

Result<std::string> OAuthAuthorizer::authorization(std::stop_token stop) {
  TRY_ASSIGN(const auto turn, Turn::take(*this, stop));
  if (!is_loaded_) {
    TRY(load());
    is_loaded_ = true;
  }
  if (is_stale()) {
    if (gets_tokens_itself()) {
      TRY(get_tokens({}, stop));
    } else {
      TRY(renew(turn, stop));  // where that cannot be, the server has the last word
    }
  }
  return login_.access_token.empty() ? std::string() : std::string(k_bearer) + login_.access_token;
}

// Once it is asked for, a new token is taken also where who wanted it is stopped: the work has its
// share of the turn.
Result<bool> OAuthAuthorizer::renew(const std::shared_ptr<Turn>& turn,
                                    const std::stop_token& stop) {
  if (options_.folder.empty()) {
    return false;
  }
  if (stop.stop_requested()) {
    return agent::fail(Code::run_cancelled, "stopped before the login was renewed");
  }
  const auto renewal = std::make_shared<Renewal>();
  renewing_ = std::jthread([this, turn, renewal](const std::stop_token& ends) {
    Result<bool> result = false;
    try {
      result = renew_login(ends);
    } catch (const std::exception& exception) {
      result = agent::fail(agent::error_of(exception));
    }
    const std::lock_guard lock(renewal->mutex);
    renewal->result = std::move(result);
    renewal->done.notify_all();
  });
  std::unique_lock lock(renewal->mutex);
  if (!renewal->done.wait(lock, stop, [&] { return renewal->result.has_value(); })) {
    return agent::fail(Code::run_cancelled, "stopped while the login is renewed");
  }
  return *std::move(renewal->result);
}

// Of many processes one renews the login, and the others read what it wrote.
Result<bool> OAuthAuthorizer::renew_login(const std::stop_token& stop) {
  const std::string used = login_.access_token;
  TRY_ASSIGN(const agent::Descriptor lock, as_clause(store_.lock(*options_.clock, stop)));
  TRY(load());
  if (login_.access_token != used) {
    got_ = options_.clock->now();  // new here: else two processes could renew in turn for ever
    note_refusal({});
    return !login_.access_token.empty();
  }
  if (login_.refresh_token.empty() || login_.refresh_token == refused_) {
    return false;
  }
  Login renewed = login_;
  const auto answer = refresh(renewed, stop);
  if (!answer && answer.error().code != Code::mcp_auth) {
    return agent::fail(answer.error());
  }
  if (answer && answer->error.empty()) {
    know_secrets_of(renewed);
    TRY(as_clause(store_.save(renewed)));
    login_ = std::move(renewed);
    got_ = options_.clock->now();
    return true;
  }
  if (answer && !is_refusal(answer->error)) {
    return false;  // it may be taken another time
  }
  refused_ = login_.refresh_token;
  note_refusal(answer ? fmt::format("{} {}", answer->error, answer->description)
                      : answer.error().message);
  if (answer && is_final(answer->error)) {
    login_.refresh_token.clear();
    [[maybe_unused]] const auto saved = store_.save(login_);  // else others are refused, too
  }
  return false;
}

void OAuthAuthorizer::note_refusal(std::string why) {
  redact(why);
  const std::lock_guard lock(told_mutex_);
  refusal_ = agent::trimmed(why);
}

std::string OAuthAuthorizer::end_of_login() const {
  const std::lock_guard lock(told_mutex_);
  return refusal_.empty()
             ? std::string()
             : fmt::format(
                   "has a login that is over ({}): its last token is used until that is "
                   "refused, and `{}` makes a new one",
                   refusal_,
                   options_.login_command);
}

// What the standard has for a token that is not taken; others tell of the server's own trouble.
bool OAuthAuthorizer::is_refusal(std::string_view error) {
  constexpr auto k_refusals = std::to_array<std::string_view>({"invalid_client",
                                                               "invalid_grant",
                                                               "invalid_request",
                                                               "invalid_scope",
                                                               "unauthorized_client",
                                                               "unsupported_grant_type"});
  return std::ranges::find(k_refusals, error) != k_refusals.end();
}

// Of whatever client asks: where that is one of the agent file, another secret may help.
bool OAuthAuthorizer::is_final(std::string_view error) const {
  return error == "invalid_grant" || (error == "invalid_client" && options_.spec.client_id.empty());
}

// With tokens, `login` has them.
Result<TokenAnswer> OAuthAuthorizer::refresh(Login& login, const std::stop_token& stop) {
  TRY(as_clause(check_may_tell(options_, login.token_endpoint)));
  TRY_ASSIGN(const Client client, as_clause(client_of(options_, login)));
  const Asking asking(*this, login.token_endpoint);
  TRY_ASSIGN(TokenAnswer answer,
             as_clause(client_.ask_for_tokens(login.token_endpoint,
                                              login.issuer,
                                              {{"grant_type", "refresh_token"},
                                               {"refresh_token", login.refresh_token},
                                               {"resource", login.resource}},
                                              client,
                                              stop)));
  if (answer.error.empty()) {
    const std::vector<std::string> scopes = login.scopes;
    take_tokens(options_, answer.tokens, scopes, login);
  }
  return answer;
}

Result<void> OAuthAuthorizer::get_tokens(const Challenge& challenge, const std::stop_token& stop) {
  if (!discovery_ || !challenge.resource_metadata.empty()) {
    TRY(as_clause(check_issuer(options_)));
    Asking::Http http(*this);
    const OAuthClient client(http, *options_.clock, options_.server, options_.headers);
    TRY_ASSIGN(discovery_, as_clause(client.discover(challenge, options_.spec.issuer, stop)));
  }
  const auto& [resource, server] = *discovery_;
  TRY(as_clause(check_may_tell(options_, server.token_endpoint)));
  TRY_ASSIGN(const Client client, as_clause(own_client(options_, server)));
  const Asking asking(*this, server.token_endpoint);
  const auto scopes = united(login_.scopes, scopes_to_ask_for(options_, challenge, resource));
  Form form = {{"grant_type", "client_credentials"}, {"resource", resource.resource}};
  if (!scopes.empty()) {
    form.emplace_back("scope", join_scopes(scopes));
  }
  TRY_ASSIGN(const TokenAnswer answer,
             as_clause(client_.ask_for_tokens(
                 server.token_endpoint, server.issuer, std::move(form), client, stop)));
  if (!answer.error.empty()) {
    return agent::fail(
        Code::mcp_auth,
        fmt::format("cannot be given a token: {} has none for the client `{}`: {} {}",
                    server.issuer,
                    options_.spec.client_id,
                    answer.error,
                    answer.description),
        "look at `client_id`, its secret or key, and `scopes` in the agent file");
  }
  take_tokens(options_, answer.tokens, scopes, login_);
  got_ = options_.clock->now();
  know_secrets_of(login_);
  return {};
}

Result<bool> OAuthAuthorizer::challenged(int status,
                                         std::string_view www_authenticate,
                                         std::string_view token_used,
                                         std::stop_token stop) {
  const Challenge challenge = parse_challenge(www_authenticate);
  if (status != 401 && (status != 403 || challenge.error != "insufficient_scope")) {
    return false;
  }
  TRY_ASSIGN(const auto turn, Turn::take(*this, stop));
  if (!login_.access_token.empty() && login_.access_token != without_scheme(token_used)) {
    return true;  // another request has had it renewed
  }
  if (status == 403) {
    got_.reset();  // it is taken, though not for this
    return ask_for_more(challenge, stop);
  }
  TRY(count_refusal());
  if (gets_tokens_itself()) {
    TRY(get_tokens(challenge, stop));
    return true;
  }
  const bool had_login = !login_.access_token.empty();
  TRY_ASSIGN(const bool is_renewed, renew(turn, stop));
  if (is_renewed) {
    return true;
  }
  remember(united(login_.wanted, challenge.scopes), stop);
  if (!had_login) {
    return login_needed("wants a login");
  }
  return login_needed(refusal_.empty()
                          ? "wants a new login: this one is over"
                          : fmt::format("wants a new login: this one is over ({})", refusal_));
}

Result<bool> OAuthAuthorizer::ask_for_more(const Challenge& challenge,
                                           const std::stop_token& stop) {
  if (!gets_tokens_itself() && !options_.folder.empty()) {
    const std::string used = login_.access_token;
    TRY(load());
    if (login_.access_token != used && !login_.access_token.empty()) {
      got_ = options_.clock->now();
      return true;  // somebody has logged in again meanwhile
    }
  }
  const auto wanted = united(login_.scopes, challenge.scopes);
  if (wanted == login_.scopes) {
    return agent::fail(
        Code::mcp_auth,
        challenge.scopes.empty()
            ? "refuses with HTTP status 403, and does not say what login it wants"
            : fmt::format("refuses, though the login is for all that it asks for: {}",
                          join_scopes(challenge.scopes)),
        "A new login would be for the same: ask who runs the server what is missing.");
  }
  if (gets_tokens_itself()) {
    TRY(count_step_up(challenge));
    TRY(get_tokens(challenge, stop));
    return true;
  }
  remember(wanted, stop);
  return login_needed(fmt::format("wants a login for more: {}", join_scopes(challenge.scopes)));
}

// Each new token once; one that was had for longer has run out.
Result<void> OAuthAuthorizer::count_refusal() {
  const auto now = options_.clock->now();
  forget_older(refusals_, now);
  if (got_ && is_of_last_minute(*got_, now)) {
    refusals_.push_back(now);
  }
  got_.reset();
  return refusals_.size() < k_most_refusals
             ? Result<void>()
             : login_needed(
                   fmt::format("has refused {} new tokens within a minute", refusals_.size()));
}

Result<void> OAuthAuthorizer::count_step_up(const Challenge& challenge) {
  const auto now = options_.clock->now();
  forget_older(step_ups_, now);
  if (step_ups_.size() >= k_most_step_ups) {
    return login_needed(fmt::format("has wanted a token for more {} times within a minute, now: {}",
                                    step_ups_.size(),
                                    join_scopes(challenge.scopes)));
  }
  step_ups_.push_back(now);
  return {};
}

// For the next login. Where it cannot be written, that one asks for less, and can be made again.
void OAuthAuthorizer::remember(const std::vector<std::string>& wanted,
                               const std::stop_token& stop) {
  if (options_.folder.empty() || wanted == login_.wanted) {
    return;
  }
  const auto lock = store_.lock(*options_.clock, stop);
  if (!lock || !load()) {
    return;
  }
  login_.server = options_.server.without_query();  // which may hold a secret
  login_.wanted = wanted;
  [[maybe_unused]] const auto saved = store_.save(login_);
}

std::unexpected<agent::Error> OAuthAuthorizer::login_needed(std::string_view why) const {
  if (gets_tokens_itself()) {
    return agent::fail(
        Code::mcp_auth, std::string(why), "look at `oauth` of the server in the agent file");
  }
  return agent::fail(Code::mcp_auth,
                     std::string(why),
                     fmt::format("{}`{}` makes one; a token that you have goes into `headers` of "
                                 "the server: `Authorization: Bearer …`",
                                 options_.headers.empty()
                                     ? ""
                                     : "it may refuse what `headers` gives it: look there first; ",
                                 options_.login_command));
}

}  // namespace tools::oauth
