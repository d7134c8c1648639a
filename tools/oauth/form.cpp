#include "tools/oauth/form.h"

#include "agent/base64.h"
#include "agent/sha256.h"
#include "agent/text.h"
#include "tools/web/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tools::oauth {
namespace {

bool is_plain(char c) {
  const char low = agent::to_lower(c);
  return (low >= 'a' && low <= 'z') || agent::is_digit(c) || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

std::optional<std::string> decoded(std::string_view text) {
  std::string value;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      value += text[at] == '+' ? ' ' : text[at];
      continue;
    }
    const auto byte = escaped_byte(text, at);
    if (!byte) {
      return std::nullopt;
    }
    value += *byte;
    at += 2;
  }
  return value;
}

}  // namespace

std::string form_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (is_plain(c)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string to_text(const Form& form) {
  std::string text;
  for (const auto& [name, value] : form) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : "&", form_encoded(name), form_encoded(value));
  }
  return text;
}

std::string with_query(std::string_view url, const Form& form) {
  return fmt::format("{}{}{}", url, url.contains('?') ? '&' : '?', to_text(form));
}

std::optional<std::map<std::string, std::string, std::less<>>> parse_form(std::string_view text) {
  std::map<std::string, std::string, std::less<>> form;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto equals = std::min(part.find('='), part.size());
    auto name = decoded(part.substr(0, equals));
    auto value = decoded(part.substr(std::min(equals + 1, part.size())));
    if (!name || !value || !form.emplace(*std::move(name), *std::move(value)).second) {
      return std::nullopt;
    }
  }
  return form;
}

Pkce pkce_of(std::string_view random) {
  const std::string verifier = agent::to_base64url(random);
  return {.verifier = verifier, .challenge = agent::to_base64url(agent::sha256(verifier))};
}

}  // namespace tools::oauth
