// Regular expressions in an agent file.
#pragma once
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <optional>
#include <string_view>

namespace config {

// Whether the expression (RE2) matches the empty text; nullopt where it is none: a mistake at the
// part that is wrong. `key` names it in the message.
std::optional<bool> matches_nothing(const Value& value, std::string_view key, Problems& problems);

}  // namespace config
