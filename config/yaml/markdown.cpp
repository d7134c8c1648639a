#include "config/yaml/markdown.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace config {
namespace {

constexpr std::string_view k_white = " \t\r\n";

bool is_fence(std::string_view line) {
  return line.starts_with("---") && line.find_first_not_of(" \t", 3) == std::string_view::npos;
}

std::string with_plain_line_ends(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != '\r') {
      plain += c;
    }
  }
  return plain;
}

std::optional<Value> read_body(const Source& source, std::size_t begin) {
  const std::string_view text = source.text();
  const std::size_t first = text.find_first_not_of(k_white, begin);
  if (first == std::string_view::npos) {
    return std::nullopt;
  }
  // Spaces before the first word belong to it: an indented code block, say.
  const std::size_t line = std::max(source.line_begin(source.line_of(first)), begin);
  const std::size_t last = text.find_last_not_of(k_white);
  Value body;
  body.kind = Kind::text;
  body.style = Style::verbatim;
  body.content = line;
  body.span = {first, source.line_text(source.line_of(first)).size()};
  body.text = with_plain_line_ends(text.substr(line, last + 1 - line));
  return body;
}

}  // namespace

std::optional<MarkdownParts> split_markdown(const Source& source, Problems& problems) {
  if (!is_fence(source.line_text(1))) {
    problems.add({0, 0},
                 "the front matter is missing",
                 "begin the file with a line `---`, the keys, and a line `---`; the instructions "
                 "follow");
    return std::nullopt;
  }
  for (std::size_t line = 2; line <= source.line_count(); ++line) {
    if (!is_fence(source.line_text(line))) {
      continue;
    }
    const std::size_t begin = source.line_begin(2);
    const std::size_t end = source.line_begin(line);
    MarkdownParts parts;
    parts.front_matter = {begin, end - begin};
    if (line < source.line_count()) {
      parts.body = read_body(source, source.line_begin(line + 1));
    }
    return parts;
  }
  problems.add({0, 3}, "the front matter is not closed", "end it with a line `---`");
  return std::nullopt;
}

}  // namespace config
