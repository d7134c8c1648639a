// JSON values as JSON Schema sees them: types, equality, sizes; and the words for them.
#pragma once
#include "agent/json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace agent::schema {

// A set of types: one bit each, so that a list of types is one number.
using Types = std::uint8_t;
struct TypeRow {
  Types bit;
  std::string_view name;
  std::string_view phrase;
};
std::span<const TypeRow> all_types();
std::string phrase(Types types);  // "a string or null"

// The narrowest type of the value: 1.0 is an integer.
Types type_of(const Json& value);
bool has_type(const Json& value, Types types);

// The member, null or not; nullptr where `object` is no object or lacks it.
const Json* member(const Json& object, std::string_view key);

// As the standard has it: 1 equals 1.0, the order of members is nothing.
bool is_equal(const Json& a, const Json& b);
// Equal values have equal hashes, whatever the order of their members.
std::size_t hash_of(const Json& value);
// What it is to look at all of it, in steps of a Judge: its values, and their bytes by sixteens.
std::size_t weight_of(const Json& value);
// The first item that is there twice, and where it was first, if there is one. Linear time.
std::optional<std::pair<std::size_t, std::size_t>> find_twins(const Json& array);

// The value as JSON, shortened. The work does not grow with the value.
std::string excerpt(const Json& value);

}  // namespace agent::schema
