// What providers take as the name of a tool.
#pragma once
#include <string>
#include <string_view>

namespace agent {

// With `_` for what is no letter, digit, `-` or `_`.
std::string cleaned_tool_name(std::string_view name);

}  // namespace agent
