#include "agent/base64.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace agent {
namespace {

constexpr std::string_view k_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t k_in = 3;   // bytes of a group
constexpr std::size_t k_out = 4;  // digits of a group

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += k_in) {
    const std::string_view group = bytes.substr(at, k_in);
    std::uint32_t value = 0;
    for (std::size_t index = 0; index < k_in; ++index) {
      value =
          (value << 8U) | (index < group.size() ? static_cast<unsigned char>(group[index]) : 0U);
    }
    for (std::size_t index = 0; index < k_out; ++index) {
      text += index <= group.size() ? k_digits[(value >> (18 - 6 * index)) & 63U] : '=';
    }
  }
  return text;
}

std::string to_base64url(std::string_view bytes) {
  std::string text = to_base64(bytes);
  text.erase(std::min(text.find('='), text.size()));
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % k_out != 0) {
    return std::nullopt;
  }
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += k_out) {
    std::uint32_t value = 0;
    for (std::size_t index = at; index < at + k_out; ++index) {
      const bool is_padding = index >= text.size() - padding;
      const std::size_t digit = is_padding ? 0 : k_digits.find(text[index]);
      if (digit == std::string_view::npos) {
        return std::nullopt;
      }
      value = (value << 6U) | static_cast<std::uint32_t>(digit);
    }
    for (const unsigned shift : {16U, 8U, 0U}) {
      bytes += static_cast<char>((value >> shift) & 0xFFU);
    }
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace agent
