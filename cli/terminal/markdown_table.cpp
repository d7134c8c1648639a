#include "cli/terminal/markdown_table.h"

#include "agent/text.h"
#include "cli/terminal/columns.h"
#include "cli/terminal/render_error.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace cli {
namespace {

constexpr std::string_view k_gap = "  ";
constexpr std::string_view k_head_style = "1";
constexpr std::string_view k_rule_style = "2";
constexpr std::size_t k_least_columns = 3;

using Cells = std::vector<std::string_view>;

// `\|` and bars within code divide nothing.
Cells cells_of(std::string_view line) {
  std::string_view text = agent::trimmed(line);
  text.remove_prefix(text.starts_with('|') ? 1 : 0);
  Cells cells;
  bool is_in_code = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '`') {
      is_in_code = !is_in_code;
    } else if (text[at] == '|' && !is_in_code) {
      cells.push_back(agent::trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  if (begin < text.size()) {
    cells.push_back(agent::trimmed(text.substr(begin)));
  }
  return cells;
}

bool is_table_rule(std::string_view line) {
  return line.contains('-') && line.find_first_not_of("|-: \t") == std::string_view::npos;
}

// The widest give way first.
void narrow(std::vector<std::size_t>& widths, std::size_t room) {
  std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  while (total > room) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= k_least_columns) {
      return;
    }
    --*widest;
    --total;
  }
}

class Table {
 public:
  Table(std::span<const std::string> lines, const CellText& cell_text) : cell_text_(cell_text) {
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (at != 1) {
        rows_.push_back(cells_of(lines[at]));
      }
    }
    for (const Cells& row : rows_) {
      widths_.resize(std::max(widths_.size(), row.size()));
      for (std::size_t at = 0; at < row.size(); ++at) {
        const auto lines_there = shown(row[at], 0, {});
        widths_[at] = std::max({widths_[at],
                                std::size_t{1},
                                columns_of(lines_there.substr(0, lines_there.find('\n')))});
      }
    }
  }

  std::vector<std::string> set(std::size_t columns) {
    const std::size_t gaps = (widths_.empty() ? 0 : widths_.size() - 1) * k_gap.size();
    if (columns > 0) {
      narrow(widths_, columns - std::min(columns, gaps));
    }
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      add_row(lines, rows_[at], at == 0 ? k_head_style : std::string_view());
      if (at == 0) {
        lines.push_back(rule());
      }
    }
    return lines;
  }

 private:
  std::string shown(std::string_view cell, std::size_t width, std::string_view style) const {
    return cell_text_(cell, width, style);
  }

  std::string rule() const {
    std::string line;
    for (std::size_t at = 0; at < widths_.size(); ++at) {
      line += at == 0 ? "" : k_gap;
      for (std::size_t column = 0; column < widths_[at]; ++column) {
        line += "─";
      }
    }
    return paint(k_rule_style, line, true);
  }

  void add_row(std::vector<std::string>& lines, const Cells& row, std::string_view style) const {
    std::vector<std::string> texts;
    std::size_t height = 1;
    for (std::size_t at = 0; at < row.size(); ++at) {
      texts.push_back(shown(row[at], widths_[at], style));
      height = std::max(height, agent::split_lines(texts.back()).size());
    }
    std::vector<std::vector<std::string_view>> cells;
    std::ranges::transform(texts, std::back_inserter(cells), agent::split_lines);
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      std::size_t blanks = 0;  // what is to the right is put where it belongs
      for (std::size_t at = 0; at < cells.size(); ++at) {
        const std::string_view part = line < cells[at].size() ? cells[at][line] : "";
        if (!part.empty()) {
          text.append(blanks, ' ');
          blanks = 0;
          text += part;
        }
        blanks += widths_[at] - std::min(widths_[at], columns_of(part)) + k_gap.size();
      }
      lines.push_back(std::move(text));
    }
  }

  const CellText& cell_text_;
  std::vector<Cells> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::vector<std::string> table_lines(std::span<const std::string> lines,
                                     std::size_t columns,
                                     const CellText& cell_text) {
  if (lines.size() < 2 || !is_table_rule(lines[1])) {
    return {lines.begin(), lines.end()};
  }
  return Table(lines, cell_text).set(columns);
}

}  // namespace cli
