// How wide text is on a terminal.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

// The first character of valid UTF-8 that is not empty, with all of its bytes.
std::string_view first_character(std::string_view text);

// 0 of one that sits on the character before it, 2 of East Asian wide and full-width ones and of
// emoji, otherwise 1.
std::size_t columns_of_character(std::string_view character);

// Of a line; the styles of paint() (ESC [ … m) take none.
std::size_t columns_of(std::string_view text);

// The longest beginning of the line that is at most `columns` wide, with "…" for what is left out.
std::string cut_to_columns(std::string_view text, std::size_t columns);

}  // namespace cli
