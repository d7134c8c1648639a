// A table of Markdown as lines of a terminal.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// The text of a cell, each of its lines with its end, at most `width` wide (0: one line).
using CellText =
    std::function<std::string(std::string_view cell, std::size_t width, std::string_view style)>;

// `lines` are those of the table in Markdown (`| a | b |`), the second of them its rule; without
// one they come back as they are. No line is wider than `columns` (0: not known), as long as that
// leaves each column some room: cells are broken into lines.
std::vector<std::string> table_lines(std::span<const std::string> lines,
                                     std::size_t columns,
                                     const CellText& cell_text);

}  // namespace cli
