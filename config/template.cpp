#include "config/template.h"

#include "agent/text.h"
#include "config/shapes.h"

#include <fmt/format.h>

#include <utility>

namespace config {
namespace {

// Where the tag at `open` ends, behind its braces; npos where nothing closes it. Braces between
// quotes do not.
std::size_t end_of_tag(std::string_view text, std::size_t open) {
  const std::size_t first = text.find_first_not_of(" \t\r\n", open + 2);
  std::size_t from = open + 2;
  if (first != std::string_view::npos && (text[first] == '"' || text[first] == '\'')) {
    from = text.find(text[first], first + 1);
    if (from == std::string_view::npos) {
      return from;
    }
  }
  const std::size_t close = text.find("}}", from);
  return close == std::string_view::npos ? close : close + 2;
}

Piece read_tag(std::string_view tag, std::size_t offset) {
  const std::string_view inside = agent::trimmed(tag.substr(2, tag.size() - 4));
  Piece piece{.kind = Piece::Kind::mistake, .text = {}, .offset = offset, .length = tag.size()};
  const bool is_quoted = inside.size() >= 2 && (inside[0] == '"' || inside[0] == '\'') &&
                         inside.find(inside[0], 1) == inside.size() - 1;
  if (is_quoted) {
    piece.kind = Piece::Kind::text;
    piece.text = inside.substr(1, inside.size() - 2);
  } else if (fits(Shape::parameter_name, inside)) {
    piece.kind = Piece::Kind::name;
    piece.text = inside;
  } else if (inside.empty()) {
    piece.text = "a template tag without a name";
  } else {
    piece.text = "a template tag that holds no plain name";
  }
  return piece;
}

}  // namespace

std::vector<Piece> parse_template(std::string_view text) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t open = text.find("{{", at);
    if (open == std::string_view::npos) {
      break;
    }
    while (open + 2 < text.size() && text[open + 2] == '{') {
      ++open;  // the last two of a run open the tag
    }
    if (open > at) {
      pieces.push_back({.text = std::string(text.substr(at, open - at))});
    }
    const std::size_t end = end_of_tag(text, open);
    if (end == std::string_view::npos) {
      pieces.push_back({.kind = Piece::Kind::mistake,
                        .text = "a template tag is not closed",
                        .offset = open,
                        .length = 2});
      return pieces;
    }
    pieces.push_back(read_tag(text.substr(open, end - open), open));
    at = end;
  }
  if (at < text.size()) {
    pieces.push_back({.text = std::string(text.substr(at))});
  }
  return pieces;
}

std::string quoted_for_template(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '{') {
      quoted += R"({{ "{" }})";
    } else {
      quoted += c;
    }
  }
  return quoted;
}

}  // namespace config
