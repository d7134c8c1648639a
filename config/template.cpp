#include "config/template.h"

#include "agent/template.h"
#include "config/shapes.h"

#include <utility>

namespace config {
namespace {

Piece read_piece(agent::TemplatePiece piece) {
  using Found = agent::TemplatePiece::Kind;
  Piece read{.text = std::move(piece.text), .offset = piece.offset, .length = piece.length};
  if (piece.kind == Found::text) {
    return read;
  }
  const bool is_name = piece.kind == Found::tag && fits(Shape::parameter_name, read.text);
  read.kind = is_name ? Piece::Kind::name : Piece::Kind::mistake;
  if (piece.kind == Found::open_tag) {
    read.text = "a template tag is not closed";
  } else if (!is_name) {
    read.text = read.text.empty() ? "a template tag without a name"
                                  : "a template tag that holds no plain name";
  }
  return read;
}

}  // namespace

std::vector<Piece> parse_template(std::string_view text) {
  std::vector<Piece> pieces;
  for (agent::TemplatePiece& piece : agent::split_template(text)) {
    pieces.push_back(read_piece(std::move(piece)));
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
