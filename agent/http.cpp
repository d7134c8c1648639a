#include "agent/http.h"

#include "agent/text.h"

#include <algorithm>

namespace agent {

std::string_view header(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find_if(headers, [&](const auto& field) {
    return std::ranges::equal(
        field.first, name, [](char a, char b) { return to_lower(a) == to_lower(b); });
  });
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

bool is_token_byte(char byte) {
  constexpr std::string_view k_marks = "!#$%&'*+-.^_`|~";
  const char low = to_lower(byte);
  return (low >= 'a' && low <= 'z') || is_digit(byte) || k_marks.contains(byte);
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_byte);
}

}  // namespace agent
