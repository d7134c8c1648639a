// What a program that has died said last of why.
#pragma once
#include <string>
#include <string_view>

namespace tools::mcp {

// Of what stands on its stderr, the last lines that say something, as one line of 500 bytes at
// most: places in programs (of Node, Python, the JVM and .NET) and marks are left out, and where
// there is more than fits, what came first. Not safe to show before the caller redacts it. Empty:
// it said nothing.
std::string last_words_in(std::string_view text);

}  // namespace tools::mcp
