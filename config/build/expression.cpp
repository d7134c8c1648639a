#include "config/build/expression.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <cstddef>
#include <string>

namespace config {

std::optional<bool> matches_nothing(const Value& value, std::string_view key, Problems& problems) {
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 expression(value.text, options);
  if (expression.ok()) {
    return RE2::PartialMatch("", expression);
  }
  const std::string& part = expression.error_arg();
  const std::size_t at = part.empty() ? std::string::npos : value.text.find(part);
  const bool has_place = at != std::string::npos && part.find_first_of(" \t\n") != 0;
  problems.add(has_place ? Span{offset_of(problems.source(), value, at), part.size()} : value.span,
               fmt::format("`{}` is not a regular expression: {}", key, expression.error()),
               "RE2's syntax holds: no look-around, no back references; in double quotes a "
               "backslash is written twice");
  return std::nullopt;
}

}  // namespace config
