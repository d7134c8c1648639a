// A tree held against a table of keys: unknown keys, types, ranges, words, all in one pass.
#pragma once
#include "config/keys.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <span>
#include <string>
#include <string_view>

namespace config {

// Adds every mistake that the table can tell. `names` are names that a map may be keyed by
// (built-in tools), for better advice.
void check(const Value& root,
           std::span<const Key> table,
           std::span<const std::string> names,
           Problems& problems);

// Whether a map of a list that is keyed by a free name (`{shell: {…}}`) rather than by the table's
// keys: it has one entry, none of the table's, with a map as its value.
bool is_keyed_by_name(const Value& map, std::span<const Key> table, std::string_view path);

// Whether the user may write anything under this key, everywhere: x-*.
bool is_free_key(std::string_view key);

}  // namespace config
