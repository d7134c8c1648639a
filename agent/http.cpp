#include "agent/http.h"

#include <algorithm>

namespace agent {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view header(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find_if(headers, [&](const auto& field) {
    return std::ranges::equal(field.first, name, {}, lower, lower);
  });
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace agent
