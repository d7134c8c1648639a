// The templates of `instructions` and `prompt` (the syntax: prompt.h).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// A piece of a template, in order: text that stays, a name, or what is no tag.
struct Piece {
  enum class Kind : unsigned char { text, name, mistake };

  Kind kind = Kind::text;
  std::string text;        // the text, the name, or the message
  std::size_t offset = 0;  // names and mistakes: of the tag's first brace
  std::size_t length = 0;  // of the whole tag
};

std::vector<Piece> parse_template(std::string_view text);

// `text` so that a template shows it as it is.
std::string quoted_for_template(std::string_view text);

}  // namespace config
