// Where one text stands in another, in time that grows with both together.
#pragma once
#include <cstddef>
#include <cstring>
#include <string_view>

namespace tools {

// As std::string_view::find, which takes the product of both sizes for a text that nearly stands
// there, again and again; memmem does not.
inline std::size_t find_text(std::string_view text, std::string_view wanted, std::size_t from = 0) {
  if (from > text.size()) {
    return std::string_view::npos;
  }
  const void* const found =
      ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace tools
