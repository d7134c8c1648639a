#include "agent/lenient_json.h"

#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace agent {
namespace {

std::optional<std::uint32_t> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') {
    return std::nullopt;
  }
  std::uint32_t value = 0;
  for (const char c : text.substr(at + 2, 4)) {
    constexpr std::string_view k_digits = "0123456789abcdef";
    const auto digit = k_digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return value;
}

bool is_high(std::optional<std::uint32_t> unit) {
  return unit && *unit >= 0xD800 && *unit < 0xDC00;
}
bool is_low(std::optional<std::uint32_t> unit) {
  return unit && *unit >= 0xDC00 && *unit < 0xE000;
}

// Some servers cut between the two halves of an escaped pair; half a pair is no JSON.
std::string without_lone_surrogates(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto unit = escaped_unit(text, at);
    if (is_high(unit) && is_low(escaped_unit(text, at + 6))) {
      result += text.substr(at, 12);
      at += 12;
    } else if (is_high(unit) || is_low(unit)) {
      result += "\\ufffd";
      at += 6;
    } else {
      const std::size_t length = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      result += text.substr(at, length);
      at += length;
    }
  }
  return result;
}

}  // namespace

std::optional<Json> parse_lenient(std::string_view text) {
  RepeatedNames repeated;
  return parse_lenient(text, repeated);
}

std::optional<Json> parse_lenient(std::string_view text, RepeatedNames& repeated) {
  if (auto json = parse_json(text, repeated)) {
    return json;
  }
  return parse_json(without_lone_surrogates(to_valid_utf8(text)), repeated);
}

}  // namespace agent
