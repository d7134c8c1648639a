// The one table of keys. The loader checks files against it, the JSON Schema and the man page are
// made from it: a key that is not here does not exist.
#pragma once
#include "agent/json.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

enum class Type : std::uint8_t {
  text,
  integer,
  number,
  boolean,
  count,           // a whole number of at least 1, or 500k, 1.5M
  duration,        // text with a unit
  money,           // US dollars, as a number or as text with the same digits
  choice,          // one word of `choices`
  scalar,          // text, number or boolean
  texts,           // one text, or a list of texts
  list,            // of the key `PATH[]`
  map,             // of the keys `PATH.…`, or of free names with the value `PATH.*`
  text_or_map,     // the short and the long form
  boolean_or_map,  // the same: true or false, or a map
  list_or_map,     // the same: a list of the key `PATH[]`, or a map of the keys `PATH.…`
  json_schema,     // a map that is a JSON Schema
  map_or_path,     // a map that somebody else reads, or the path of a file that holds one
  anything_map,    // a map whose content is the user's own
  anything,
};
std::string_view to_string(Type type);  // for people: "duration", "list"

// What a text must look like, beside being one (shapes.h).
enum class Shape : std::uint8_t {
  any,
  filled,  // not empty
  agent_name,
  tool_name,
  parameter_name,
  header_name,
  variable,      // the name of an environment variable
  off,           // the one word
  switched_off,  // the same
  percent,       // "60%", from 10 to 95
  pass_rule,     // "all", "any", or "80%", from 1 to 100
  variables,     // the same, or the beginning of several with a `*`
  model,         // "auto" or "PROVIDER/NAME"
  named_model,   // "PROVIDER/NAME"
  url,           // http or https
  origin,        // the same, no more than scheme, host and port
  host,          // HOST or HOST:PORT
  host_pattern,  // the same, or with *. before it
  sandbox_mode,  // "read_only", "workspace_write" or "off"
};

enum class Status : std::uint8_t { available, later };

struct Key {
  std::string_view path;  // "limits.max_turns"; "[]" is an item of a list, "*" a free name
  Type type = Type::text;
  std::string_view help;                // one line
  std::string_view example;             // its value as YAML in one line; empty for a group of keys
  std::string_view default_value = {};  // the default, as YAML; empty: none
  std::string_view choices = {};  // "none|low|high"; for a count, a word that it may be instead
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  Shape shape = Shape::any;           // of a text, or of the free names of a map
  bool required = false;              // in its map
  bool may_be_zero = false;           // durations and money
  Status status = Status::available;  // `later` is refused as not yet supported
  std::string_view same_as = {};      // the path whose keys its map has; empty: its own

  std::vector<std::string_view> words() const;  // `choices`, split
  std::string_view map_path() const { return same_as.empty() ? path : same_as; }
};

// Of the agent file, in the order of the man page. Only top-level keys and groups of `later` keys
// stand alone; every other path has its parent in the table.
std::span<const Key> keys();

// JSON Schema (draft-07) of the agent file.
agent::Json agent_schema();

}  // namespace config
