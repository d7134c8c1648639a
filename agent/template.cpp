#include "agent/template.h"

#include "agent/text.h"

namespace agent {
namespace {

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

// Where the tag at `open` ends, behind its braces; npos where nothing closes it. Braces between
// quotes do not.
std::size_t end_of_tag(std::string_view text, std::size_t open) {
  const std::size_t first = text.find_first_not_of(" \t\r\n", open + 2);
  std::size_t from = open + 2;
  if (first != std::string_view::npos && is_quote(text[first])) {
    from = text.find(text[first], first + 1);
    if (from == std::string_view::npos) {
      return from;
    }
  }
  const std::size_t close = text.find("}}", from);
  return close == std::string_view::npos ? close : close + 2;
}

TemplatePiece read_tag(std::string_view tag, std::size_t offset) {
  const std::string_view inside = trimmed(tag.substr(2, tag.size() - 4));
  const bool is_quoted = inside.size() >= 2 && is_quote(inside.front()) &&
                         inside.find(inside.front(), 1) == inside.size() - 1;
  return {.kind = is_quoted ? TemplatePiece::Kind::text : TemplatePiece::Kind::tag,
          .text = std::string(is_quoted ? inside.substr(1, inside.size() - 2) : inside),
          .offset = offset,
          .length = tag.size()};
}

}  // namespace

std::vector<TemplatePiece> split_template(std::string_view text) {
  std::vector<TemplatePiece> pieces;
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
      pieces.push_back(
          {.kind = TemplatePiece::Kind::open_tag, .text = {}, .offset = open, .length = 2});
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

}  // namespace agent
