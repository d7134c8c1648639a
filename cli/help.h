// The text of --help, 80 columns wide.
#pragma once
#include "cli/options.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

std::string help();                        // of the program
std::string help(const Command& command);  // of one command, examples first

// Of the commands that begin with `group`: "tools" is "tools list" and "tools call". Empty where
// there are none.
std::string group_help(std::string_view group);

// "errand check [-o FORMAT] FILE…": one line where it fits.
std::string usage(const Command& command);

// "FORMAT" as "text|json" where there are choices.
std::string value_name(const Option& option);

// Breaks `text` between words into lines of at most `width` columns; every line after the first
// begins with `indent` spaces. Line breaks in the text stay.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace cli
