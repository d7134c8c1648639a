// What a text must look like, for the loader and, as a pattern, for the JSON Schema.
#pragma once
#include "config/keys.h"

#include <string_view>

namespace config {

bool fits(Shape shape, std::string_view text);
std::string_view pattern(Shape shape);   // RE2, unanchored where it has no ^; empty: anything
std::string_view describe(Shape shape);  // completes "must be …"

// What a duration, a short count and an amount look like, as patterns. That of a duration lets the
// empty text through.
std::string_view duration_pattern();
std::string_view count_pattern();
std::string_view money_pattern();

}  // namespace config
