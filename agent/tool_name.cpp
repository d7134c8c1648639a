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

}  // namespace agent
