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

}  // namespace agent
