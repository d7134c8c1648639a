// mdoc as text to read, for those who have no man(1), or no installed pages: the macros that
// man/*.in and the tables use, and no more.
#pragma once
#include <string>
#include <string_view>

namespace cli::mdoc {

struct PlainText {
  std::string_view name;  // of the page, which `.Nm` alone stands for
  bool bold = false;      // headings, for a terminal
};

// At most 80 columns wide, but for literal lines and long words.
std::string plain_text(std::string_view source, const PlainText& how);

}  // namespace cli::mdoc
