// JSON as others send it.
#pragma once
#include "agent/json.h"

#include <optional>
#include <string_view>

namespace agent {

// As parse_json(), but bytes that are no UTF-8 and lone surrogates become U+FFFD.
std::optional<Json> parse_lenient(std::string_view text);
std::optional<Json> parse_lenient(std::string_view text, RepeatedNames& repeated);

}  // namespace agent
