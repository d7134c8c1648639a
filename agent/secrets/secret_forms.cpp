#include "agent/secrets/secret_forms.h"

#include "agent/json.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace agent {
namespace {

// What stands for itself in a URL.
bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("_.~-").contains(c);
}

// As a part of a JSON pointer.
std::string in_pointer(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

std::string hex_escaped(std::string_view text, std::string_view digits, bool is_path) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_unreserved(c) || (is_path && c == '/')) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 0x0F]};
    }
  }
  return out;
}

// As it stands between the quotes of a JSON string.
std::string json_escaped(const std::string& text, bool ascii_only) {
  const std::string quoted = Json(text).dump(-1, ' ', ascii_only, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

// What every base64 text has in common that holds `value` with `lead` bytes before it: the digits
// that the neighbours do not touch.
std::string base64_core(const std::string& value, std::size_t lead, std::string_view digits) {
  const std::string bytes = std::string(lead, '\0') + value;
  std::string out;
  for (std::size_t bit = 0; bit + 6 <= bytes.size() * 8; bit += 6) {
    const std::size_t at = bit / 8;
    const unsigned high = static_cast<unsigned char>(bytes[at]);
    const unsigned low = at + 1 < bytes.size() ? static_cast<unsigned char>(bytes[at + 1]) : 0u;
    out += digits[(((high << 8) | low) >> (10 - bit % 8)) & 0x3F];
  }
  return out.substr((lead * 8 + 5) / 6);
}

constexpr std::size_t k_shortest_line = 12;  // of a value that has several
constexpr std::string_view k_dashes = "-----";

constexpr std::string_view k_hex = "0123456789ABCDEF";
constexpr std::string_view k_base64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view k_base64_url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::vector<std::string> forms_of(const std::string& value) {
  const std::string in_json = json_escaped(value, false);
  std::vector<std::string> forms = {value,
                                    in_json,
                                    json_escaped(in_json, false),  // JSON in a JSON string
                                    json_escaped(value, true)};
  forms.push_back(in_pointer(value));
  for (const std::string_view digits : {k_hex, std::string_view("0123456789abcdef")}) {
    for (const bool is_path : {false, true}) {
      forms.push_back(hex_escaped(value, digits, is_path));
    }
  }
  // As it is, and as a client of OAuth says who it is (RFC 6749, 2.3.1).
  std::vector<std::string> said = {value};
  if (const std::string escaped = hex_escaped(value, k_hex, false); escaped != value) {
    said.push_back(escaped);
  }
  for (const std::string& bytes : said) {
    for (std::size_t lead = 0; lead < 3; ++lead) {
      forms.push_back(base64_core(bytes, lead, k_base64));
      forms.push_back(base64_core(bytes, lead, k_base64_url));
    }
  }
  if (std::ranges::all_of(value, is_unreserved)) {  // as the host of an address, which has no case
    forms.push_back(to_lower(value));
  }
  return forms;
}

std::vector<std::string> parts_of(const std::string& value) {
  if (!value.contains('\n')) {
    return {};
  }
  std::vector<std::string> lines;
  std::array<std::string, 3> wholes;
  constexpr std::array<std::string_view, 3> k_breaks = {"\n", "\r\n", " "};
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find('\n', at), value.size());
    std::string_view line = std::string_view(value).substr(at, end - at);
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    for (std::size_t kind = 0; kind < wholes.size(); ++kind) {
      wholes[kind] += at > 0 ? k_breaks[kind] : "";
      wholes[kind] += line;
    }
    if (trimmed(line).size() >= k_shortest_line && !line.starts_with(k_dashes)) {
      lines.emplace_back(trimmed(line));
    }
    at = end + 1;
  }
  std::ranges::move(wholes, std::back_inserter(lines));
  return lines;
}

}  // namespace agent
