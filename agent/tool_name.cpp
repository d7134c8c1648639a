#include "agent/tool_name.h"

#include "agent/text.h"

#include <algorithm>

namespace agent {

std::string cleaned_tool_name(std::string_view name) {
  std::string cleaned(name);
  std::ranges::replace_if(
      cleaned,
      [](char one) {
        const char low = to_lower(one);
        return !(is_digit(one) || (low >= 'a' && low <= 'z') || one == '_' || one == '-');
      },
      '_');
  return cleaned;
}

std::string_view without_digest(std::string_view tool_name) {
  if (!tool_name.starts_with("mcp__") || tool_name.size() <= k_digits_of_tool) {
    return tool_name;
  }
  const std::string_view stem = tool_name.substr(0, tool_name.size() - k_digits_of_tool);
  const bool has_one =
      stem.ends_with('_') &&
      tool_name.find_first_not_of("0123456789abcdef", stem.size()) == std::string_view::npos;
  return has_one ? stem.substr(0, stem.size() - 1) : tool_name;
}

}  // namespace agent
