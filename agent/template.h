// Texts with `{{ … }}` in them, cut into what stays and what something else is put in place of.
//
// Where more than two braces stand in a row, the last two open the tag: `{{{ name }}}` is the value
// in braces. Whatever stands between quotes in a tag is taken as it is: {{ "{{" }} is two braces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

struct TemplatePiece {
  enum class Kind : std::uint8_t { text, tag, open_tag };  // open_tag: nothing closes it

  Kind kind = Kind::text;
  std::string text;        // the text, or what stands in the tag, without the blanks around it
  std::size_t offset = 0;  // of a tag: of its first brace
  std::size_t length = 0;  // of the whole tag
};

// In order. An open tag is the last one.
std::vector<TemplatePiece> split_template(std::string_view text);

}  // namespace agent
