#include "agent/refusal.h"

#include "agent/json.h"

#include <fmt/format.h>

namespace agent {
std::optional<std::string> why_not_text(std::string_view bytes) {
  const std::string_view valid = bytes.substr(0, valid_utf8_prefix(bytes));
  if (const auto nul = valid.find('\0'); nul != std::string_view::npos) {
    return fmt::format("byte {} is NUL", nul + 1);
  }
  if (valid.size() == bytes.size()) {
    return std::nullopt;
  }
  return fmt::format("byte {} (0x{:02X}) is not UTF-8",
                     valid.size() + 1,
                     static_cast<unsigned char>(bytes[valid.size()]));
}

std::string why_not_json(std::string_view text, int max_depth) {
  if (!is_json(text)) {
    return "is not valid JSON";
  }
  return has_too_many_values(text) ? fmt::format("has more than {} values", k_most_json_values)
                                   : fmt::format("nests deeper than {} levels", max_depth);
}

}  // namespace agent
