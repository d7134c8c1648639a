// What keeps bytes from being taken as text, or text as JSON, in words for who wrote them.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

// How many bytes at the start are whole UTF-8 sequences.
std::size_t valid_utf8_prefix(std::string_view text);

// "byte 13 (0xFF) is not UTF-8", counted from 1; nullopt: it is text. A NUL byte is none.
std::optional<std::string> why_not_text(std::string_view bytes);

// Of what parse_json() refuses: "is not valid JSON", or the limit that correct JSON is over, as
// "nests deeper than 200 levels".
std::string why_not_json(std::string_view text, int max_depth = 200);

}  // namespace agent
