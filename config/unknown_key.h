// What to say of a key that does not exist: which key was meant.
#pragma once
#include "config/keys.h"

#include <span>
#include <string>
#include <string_view>

namespace config {

struct Advice {
  std::string message;
  std::string help;
};

// `map` is the table's path of the map that `key` stands in ("" is the top), `shown` what the user
// wrote of it.
Advice unknown_key(std::span<const Key> table,
                   std::string_view map,
                   std::string_view shown,
                   std::string_view key);

// Whether a key of this name would hold a secret itself: `api_key`, in any spelling.
bool names_a_secret(std::string_view key);

// The direct children of `map` in the table: "limits" has "max_turns" and more.
std::vector<const Key*> children(std::span<const Key> table, std::string_view map);
std::string_view last_part(std::string_view path);
const Key* find_key(std::span<const Key> table, std::string_view path);
std::string join(std::string_view map, std::string_view key);

}  // namespace config
