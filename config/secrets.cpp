#include "config/secrets.h"

#include "agent/secrets/guess_words.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "config/unknown_key.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace config {
namespace {

constexpr std::size_t k_shortest_key = 16;  // of the shapes that the redactor knows
constexpr std::size_t k_shortest_token = 20;
constexpr std::string_view k_delimiters = " \t\r\n\"'`,;{}[]()<>";

bool is_token_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("._~+/=-").contains(c);
}

// The part of `word` that redaction takes away.
Span redacted_part(std::string_view word, std::string_view redacted) {
  const auto ahead = std::ranges::mismatch(word, redacted);
  const auto prefix = static_cast<std::size_t>(ahead.in1 - word.begin());
  std::size_t suffix = 0;
  while (suffix < word.size() - prefix && suffix < redacted.size() - prefix &&
         word[word.size() - 1 - suffix] == redacted[redacted.size() - 1 - suffix]) {
    ++suffix;
  }
  return {prefix, word.size() - prefix - suffix};
}

// Word by word, so that a reference to the environment behind `Authorization:` is no find.
void find_known_shapes(std::string_view text, std::vector<Span>& found) {
  const agent::Redactor redactor{agent::Environment{}};
  if (redactor.is_clean(text)) {
    return;
  }
  std::size_t at = 0;
  while ((at = text.find_first_not_of(k_delimiters, at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(k_delimiters, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word.size() >= k_shortest_key && !redactor.is_clean(word)) {
      const Span part = redacted_part(word, redactor.apply(word));
      found.push_back({at + part.offset, part.length});
    }
    at = end;
  }
}

void find_bearer_tokens(std::string_view text, std::vector<Span>& found) {
  constexpr std::string_view k_bearer = "bearer ";
  const std::string small = agent::to_lower(text);
  for (std::size_t at = small.find(k_bearer); at != std::string::npos;
       at = small.find(k_bearer, at + 1)) {
    const std::size_t begin = at + k_bearer.size();
    std::size_t end = begin;
    while (end < text.size() && is_token_character(text[end])) {
      ++end;
    }
    const std::string_view token = text.substr(begin, end - begin);
    const bool has_digit = token.find_first_of("0123456789") != std::string_view::npos;
    if (token.size() >= k_shortest_token && has_digit) {
      found.push_back({begin, token.size()});
    }
  }
}

void find_private_keys(std::string_view text, std::vector<Span>& found) {
  constexpr std::string_view k_begin = "-----BEGIN ";
  constexpr std::string_view k_key = "PRIVATE KEY-----";
  for (std::size_t at = text.find(k_begin); at != std::string_view::npos;
       at = text.find(k_begin, at + 1)) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (const std::size_t key = line.find(k_key); key != std::string_view::npos) {
      found.push_back({at, key + k_key.size()});
    }
  }
}

bool carries_a_key(std::string_view header) {
  constexpr auto k_headers = std::to_array<std::string_view>({"authorization",
                                                              "proxy-authorization",
                                                              "x-api-key",
                                                              "api-key",
                                                              "x-goog-api-key",
                                                              "x-auth-token",
                                                              "cookie"});
  return std::ranges::find(k_headers, agent::to_lower(header)) != k_headers.end();
}

// Of another program's files: a name for a value is none.
bool is_foreign_reference(std::string_view text) {
  return re2::RE2::FullMatch(text, R"((?:[A-Za-z]+ )?\$\{(?:[a-z]+[:.])?[A-Za-z_][A-Za-z0-9_]*\})");
}

void find_in_map(const Value& map, bool (*is_secret)(std::string_view), std::vector<Span>& found) {
  for (const Entry& entry : map.entries) {
    const bool is_literal = entry.value.is_scalar() && entry.value.text.size() >= 8 &&
                            !entry.value.text.contains("${env:") &&
                            !is_foreign_reference(entry.value.text);
    if (is_literal && is_secret(entry.key)) {
      found.push_back(entry.value.span);
    }
  }
}

void find_in_model(const Value& model, std::vector<Span>& found) {
  find_in_map(model, names_a_secret, found);
  if (const Entry* headers = model.find("headers")) {
    find_in_map(headers->value, carries_a_key, found);
  }
}

void find_in_server(const Value& server, std::vector<Span>& found) {
  if (const Entry* env = server.find("env")) {
    find_in_map(env->value, agent::is_secret_name, found);
  }
  if (const Entry* headers = server.find("headers")) {
    find_in_map(headers->value, carries_a_key, found);
  }
  if (const Entry* oauth = server.find("oauth")) {
    find_in_map(
        oauth->value,
        [](std::string_view key) { return key == "client_secret" || key == "private_key"; },
        found);
  }
}

// A command tool, or a built-in one with its settings under its name.
void find_in_tool(const Value& tool, std::vector<Span>& found) {
  const Entry* env = tool.find("env");
  if (env == nullptr && tool.entries.size() == 1) {
    env = tool.entries.front().value.find("env");
  }
  if (env != nullptr) {
    find_in_map(env->value, agent::is_secret_name, found);
  }
}

}  // namespace

std::vector<Span> find_key_shapes(const Source& source) {
  std::vector<Span> found;
  find_known_shapes(source.text(), found);
  find_bearer_tokens(source.text(), found);
  find_private_keys(source.text(), found);
  std::ranges::sort(found, {}, &Span::offset);
  std::vector<Span> apart;  // a token may be found in two ways
  for (const Span& span : found) {
    if (apart.empty() || span.offset >= apart.back().offset + apart.back().length) {
      apart.push_back(span);
    }
  }
  return apart;
}

std::vector<Span> find_literal_keys(const Value& root) {
  std::vector<Span> found;
  find_in_map(root, names_a_secret, found);
  if (const Entry* model = root.find("model")) {
    find_in_model(model->value, found);
  }
  if (const Entry* servers = root.find("mcp_servers")) {
    for (const Entry& server : servers->value.entries) {
      find_in_server(server.value, found);
    }
  }
  if (const Entry* fallback = root.find("fallback")) {
    const Entry* models = fallback->value.find("models");
    for (const Value& model : (models != nullptr ? models->value : fallback->value).items) {
      find_in_model(model, found);
    }
  }
  if (const Entry* tools = root.find("tools")) {
    for (const Value& tool : tools->value.items) {
      find_in_tool(tool, found);
    }
  }
  return found;
}

}  // namespace config
