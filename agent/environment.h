// The environment variables, read once by cli/ and passed on as a value.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace agent {

using Environment = std::map<std::string, std::string, std::less<>>;

// Empty where the variable is not set.
inline std::string_view value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace agent
