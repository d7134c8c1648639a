// JSON as the whole program uses it: key order kept, depth bounded, output always valid UTF-8.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agent {

using Json = nlohmann::ordered_json;

// The value, or nullopt where the text is not one whole JSON value or nests deeper than
// `max_depth` (deeper values would overflow the stack later). Never throws.
std::optional<Json> parse_json(std::string_view text, int max_depth = 200);

// One line, no spaces; invalid UTF-8 becomes U+FFFD.
std::string dump(const Json& value);

// Whole numbers are written as such: 3, not 3.0.
Json number_json(double value);

// Reads that cannot throw: the member's value where it exists and has the type, else the default.
std::string_view text_at(const Json& object, std::string_view key, std::string_view otherwise = {});
long long integer_at(const Json& object, std::string_view key, long long otherwise = 0);
double real_at(const Json& object, std::string_view key, double otherwise = 0);
bool bool_at(const Json& object, std::string_view key, bool otherwise = false);
// The member, or nullptr where `object` is no object, lacks it, or holds null there.
const Json* find(const Json& object, std::string_view key);

}  // namespace agent
