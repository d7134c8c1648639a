#include "providers/wire/json_lines.h"

#include <utility>

namespace providers {
namespace {

constexpr std::string_view k_between_values = " \t\r\n\xEF\xBB\xBF";  // and a byte-order mark

}  // namespace

void JsonLinesParser::feed(std::string_view bytes, const OnEvent& on_event) {
  std::size_t start = 0;
  for (std::size_t at = 0; at < bytes.size() && !is_stopped_; ++at) {
    const int before = depth_;
    const bool ends = takes(bytes[at]);
    if (before == 0) {
      start = at;  // the value opens here, or not at all
    }
    if (ends) {
      value_ += bytes.substr(start, at + 1 - start);
      is_stopped_ = !on_event({.name = {}, .data = std::exchange(value_, {})});
    } else if (depth_ == 0 && !k_between_values.contains(bytes[at])) {
      is_stopped_ = true;
      on_event({.name = {}, .data = std::string(bytes.substr(at))});
    }
  }
  if (depth_ > 0) {
    value_ += bytes.substr(start);
  }
}

std::optional<agent::StreamEvent> JsonLinesParser::finish() {
  if (is_stopped_ || value_.empty()) {
    return std::nullopt;
  }
  return agent::StreamEvent{.name = {}, .data = std::exchange(value_, {})};
}

// Whether the value ends with `c`.
bool JsonLinesParser::takes(char c) {
  if (in_string_) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (c == '\\') {
      is_escaped_ = true;
    } else {
      in_string_ = c != '"';
    }
    return false;
  }
  if (c == '{' || c == '[') {
    ++depth_;
  } else if (depth_ > 0 && c == '"') {
    in_string_ = true;
  } else if (depth_ > 0 && (c == '}' || c == ']')) {
    return --depth_ == 0;
  }
  return false;
}

}  // namespace providers
