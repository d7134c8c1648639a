// Pieces of manual pages as mdoc source.
#pragma once
#include <string>
#include <string_view>

namespace cli::mdoc {

// A paragraph with a line for each sentence, as mdoc wants it, and no long lines.
std::string prose(std::string_view text);
// A phrase of a table as a sentence; what is a name keeps its spelling.
std::string sentence(std::string_view phrase);
// Code: what is copied from it must be what is meant.
std::string literal(std::string_view text);
// One argument of a macro.
std::string in_quotes(std::string_view text);
std::string display(std::string_view code);

}  // namespace cli::mdoc
