// What providers take as the name of a tool.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace agent {

// With `_` for what is no letter, digit, `-` or `_`.
std::string cleaned_tool_name(std::string_view name);

// Names of MCP servers' tools: longer ones are cut, and these, as those that two tools would have,
// end in `_` and so many digits of a digest.
constexpr std::size_t k_longest_tool_name = 64;
constexpr std::size_t k_digits_of_tool = 12;
// Of one with a digest what stands before it; else all of it. Whatever guards tools goes by both:
// a server that has one more tool gives another one a digest.
std::string_view without_digest(std::string_view tool_name);

}  // namespace agent
