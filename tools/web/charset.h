// Text of other encodings as UTF-8.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tools {

// `label` is what a server or a page calls the encoding ("ISO-8859-1"; empty: nobody said, UTF-8 or
// else Windows-1252). A byte order mark wins over it. What is wrong in the text becomes U+FFFD.
// nullopt: an encoding that nobody knows.
std::optional<std::string> to_utf8(std::string_view bytes, std::string_view label);

// What an HTML page itself says about its encoding, within its first kilobyte; empty: nothing.
std::string_view charset_in_page(std::string_view page);

}  // namespace tools
