#include "tools/oauth/challenge.h"

#include "agent/http.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tools::oauth {
namespace {

constexpr std::size_t k_most_scopes = 200;

// Reads the header from left to right; each take_ leaves what it did not take.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }
  void skip(std::string_view bytes) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(bytes), rest_.size()));
  }
  bool take(char c) {
    const bool is_there = rest_.starts_with(c);
    rest_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }
  std::string_view take_token() {
    const auto end = std::ranges::find_if_not(rest_, agent::is_token_byte);
    const std::string_view token(rest_.begin(), end);
    rest_.remove_prefix(token.size());
    return token;
  }
  // As a token or in quotes; nullopt where neither is there.
  std::optional<std::string> take_value() {
    if (!take('"')) {
      const std::string_view token = take_token();
      return token.empty() ? std::nullopt : std::optional<std::string>(token);
    }
    std::string value;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      if (rest_[at] == '"') {
        rest_.remove_prefix(at + 1);
        return value;
      }
      at += rest_[at] == '\\' && at + 1 < rest_.size() ? 1 : 0;
      value += rest_[at];
    }
    return std::nullopt;
  }
  void skip_token68() {
    skip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/");
    skip("=");
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// NAME = VALUE; nullopt, and nothing read, where that is not what comes.
std::optional<std::pair<std::string, std::string>> take_parameter(Reader& reader) {
  Reader trial = reader;
  const std::string name = agent::to_lower(trial.take_token());
  trial.skip(" \t");
  if (name.empty() || !trial.take('=')) {
    return std::nullopt;
  }
  trial.skip(" \t");
  auto value = trial.take_value();
  if (!value) {
    return std::nullopt;
  }
  reader = trial;
  return std::pair(name, *std::move(value));
}

void keep(Challenge& challenge, const std::string& name, std::string value) {
  if (name == "resource_metadata") {
    challenge.resource_metadata = std::move(value);
  } else if (name == "scope") {
    challenge.scopes = split_scopes(value);
  } else if (name == "error") {
    challenge.error = std::move(value);
  }
}

}  // namespace

Challenge parse_challenge(std::string_view www_authenticate) {
  constexpr std::string_view k_between = " \t,";
  Reader reader(www_authenticate);
  reader.skip(k_between);
  while (!reader.is_at_end()) {
    const std::string scheme = agent::to_lower(reader.take_token());
    reader.skip(" \t");
    if (scheme.empty()) {
      return {};
    }
    Challenge challenge;
    bool has_parameters = false;
    while (auto parameter = take_parameter(reader)) {
      has_parameters = true;
      keep(challenge, parameter->first, std::move(parameter->second));
      reader.skip(k_between);
    }
    if (scheme == "bearer") {
      return challenge;
    }
    if (!has_parameters && !reader.rest().starts_with(',')) {
      reader.skip_token68();
    }
    reader.skip(k_between);
  }
  return {};
}

bool is_scope(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '\\';
  });
}

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::vector<std::string> united(std::vector<std::string> scopes,
                                const std::vector<std::string>& more) {
  for (const std::string& scope : more) {
    if (scopes.size() < k_most_scopes && is_scope(scope) && !has_word(scopes, scope)) {
      scopes.push_back(scope);
    }
  }
  return scopes;
}

std::vector<std::string> split_scopes(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty() && words.size() < k_most_scopes) {
    const auto end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return united({}, words);
}

std::string join_scopes(const std::vector<std::string>& scopes) {
  return fmt::format("{}", fmt::join(scopes, " "));
}

}  // namespace tools::oauth
