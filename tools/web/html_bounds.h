// A page as far as a parser takes it apart in linear time. What a parser of HTML does for a tag
// grows with how deep it stands, with the formatting that is open and with its attributes; here
// each of the three has an end.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

struct BoundedPage {
  std::string page;
  std::size_t tags_left_out = 0;  // their text is there
};

constexpr std::size_t k_most_open_elements = 500;
constexpr std::size_t k_most_open_formatting = 64;  // <b>, <font>: blocks take them up again
constexpr std::size_t k_most_attributes = 64;       // of a tag; what follows them is left out

// Also without <frameset>, which would take the page's text away. In time linear in the page.
BoundedPage bounded_page(std::string_view page);

}  // namespace tools
