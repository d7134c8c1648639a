// What a server says in WWW-Authenticate (RFC 9110, RFC 6750, RFC 9728).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tools::oauth {

struct Challenge {
  std::string resource_metadata;    // the address of its metadata; empty: not said
  std::vector<std::string> scopes;  // those that it wants
  std::string error;                // "invalid_token", "insufficient_scope", …
  bool is_made = true;              // else the server answers without one

  bool operator==(const Challenge&) const = default;
};

// The first Bearer challenge of the header's value; nothing of it where it has none, or what is no
// challenge stands before.
Challenge parse_challenge(std::string_view www_authenticate);

// Words that may be scopes (RFC 6749 section 3.3), each once, in their order; others are left out.
std::vector<std::string> split_scopes(std::string_view text);
std::string join_scopes(const std::vector<std::string>& scopes);
bool is_scope(std::string_view text);
bool has_word(const std::vector<std::string>& words, std::string_view word);
// `scopes`, and behind them those of `more` that are not among them.
std::vector<std::string> united(std::vector<std::string> scopes,
                                const std::vector<std::string>& more);

}  // namespace tools::oauth
