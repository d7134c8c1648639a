// The environment variables, read once by cli/ and passed on as a value.
#pragma once
#include "agent/text.h"

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

// The same, without the white space around it: one that is blank is as good as none.
inline std::string trimmed_value_of(const Environment& environment, std::string_view name) {
  return std::string(trimmed(value_of(environment, name)));
}

}  // namespace agent
