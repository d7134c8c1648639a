// The Authorizer that speaks OAuth: tokens of a login that was made before, renewed where they have
// run out, or those that a client gets by itself.
#pragma once
#include "agent/secrets/redact.h"
#include "tools/mcp/authorizer.h"
#include "tools/oauth/oauth_options.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace tools::oauth {

// Asks nobody: who is to log in is told so by an error.
class OAuthAuthorizer final : public mcp::Authorizer {
 public:
  explicit OAuthAuthorizer(OAuthOptions options)
      : options_(std::move(options)),
        client_(*options_.http, *options_.clock, options_.server, options_.headers),
        store_(login_store_of(options_)),
        secrets_(agent::Environment{}) {}
  // A token that is being renewed is waited for, a second and no longer.
  ~OAuthAuthorizer() override;

  // Also config.invalid (a secret may not go where it is wanted) and storage.io.
  agent::Result<std::string> authorization(std::stop_token stop) override;
  agent::Result<bool> challenged(int status,
                                 std::string_view www_authenticate,
                                 std::string_view token_used,
                                 std::stop_token stop) override;
  std::string asks() const override;
  std::string end_of_login() const override;
  void redact(std::string& text) const override;
  void redact(agent::Json& value) const override;

 private:
  class Turn;
  struct Renewal;
  class Asking;

  bool gets_tokens_itself() const;
  agent::Result<void> load();
  void know_secrets_of(const Login& login);
  bool is_stale() const;
  agent::Result<bool> renew(const std::shared_ptr<Turn>& turn, const std::stop_token& stop);
  agent::Result<bool> renew_login(const std::stop_token& stop);
  void note_refusal(std::string why);
  bool is_final(std::string_view error) const;
  static bool is_refusal(std::string_view error);
  agent::Result<TokenAnswer> refresh(Login& login, const std::stop_token& stop);
  agent::Result<void> get_tokens(const Challenge& challenge, const std::stop_token& stop);
  agent::Result<bool> ask_for_more(const Challenge& challenge, const std::stop_token& stop);
  agent::Result<void> count_refusal();
  agent::Result<void> count_step_up(const Challenge& challenge);
  void remember(const std::vector<std::string>& wanted, const std::stop_token& stop);
  // `why` follows on the server's name.
  std::unexpected<agent::Error> login_needed(std::string_view why) const;

  OAuthOptions options_;
  OAuthClient client_;
  LoginStore store_;
  std::mutex mutex_;
  std::condition_variable_any free_;
  bool is_busy_ = false;  // under the mutex; who has set it owns what follows
  bool is_loaded_ = false;
  Login login_;
  std::string refused_;                        // the refresh token that was: never sent again
  std::optional<Discovery> discovery_;         // where it gets tokens itself
  std::optional<agent::Clock::Steady> got_;    // its token; nullopt: that is not new any more
  std::deque<agent::Clock::Steady> refusals_;  // of new tokens, of the last minute
  std::deque<agent::Clock::Steady> step_ups_;  // to tokens for more, likewise
  mutable std::mutex told_mutex_;
  std::string asked_;    // of asks(); under told_mutex_
  std::string refusal_;  // why the login is over; changed by its owner under told_mutex_
  mutable std::shared_mutex secrets_mutex_;
  agent::Redactor secrets_;  // under secrets_mutex_
  std::jthread renewing_;    // uses all that is above
};

}  // namespace tools::oauth
