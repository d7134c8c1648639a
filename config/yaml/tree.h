// A YAML document as values that know their place in the source. Nothing here knows what the keys
// mean.
#pragma once
#include "agent/json.h"
#include "config/yaml/source.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

enum class Kind : std::uint8_t { null, boolean, integer, number, text, list, map };
std::string_view to_string(Kind kind);

// How a scalar is written; it decides what its bytes mean in the source.
enum class Style : std::uint8_t { plain, single_quoted, double_quoted, block, verbatim };

struct Entry;

struct Value {
  Kind kind = Kind::null;
  Style style = Style::plain;
  Span span;                // of the value; for maps and lists of their beginning
  std::size_t content = 0;  // scalars: where the characters begin, behind quote or header
  std::string text;         // scalars: as written, unescaped and folded
  std::vector<std::string> variables = {};  // scalars: of the environment, whose values it holds
  bool lacks_a_variable = false;            // scalars: what stands there nobody knows
  std::vector<Value> items;                 // lists
  std::vector<Entry> entries;               // maps

  bool is_scalar() const { return kind < Kind::list; }
  const Entry* find(std::string_view key) const;  // nullptr also where this is no map
};

struct Entry {
  std::string key;
  Span key_span;
  Value value;
};

// Whether nothing is written there, or `null`.
inline bool is_empty(const Value& value) {
  return value.kind == Kind::null && value.text.empty();
}

// Scalars by the YAML 1.2 core schema: `no`, `yes`, `on` are text, 017 is seventeen.
Kind kind_of_plain(std::string_view text);
std::optional<std::int64_t> integer_of(const Value& value);  // nullopt: none, or over 64 bits
std::optional<double> number_of(const Value& value);         // of integers too; may be inf or nan
std::optional<bool> boolean_of(const Value& value);

// Where the characters of a value stand in its source, one after the other: work in proportion to
// the source in all, where the indices only grow. Both are borrowed.
class SourceOffsets {
 public:
  SourceOffsets(std::string_view source, const Value& value)
      : source_(source), value_(value), at_(value.content) {}

  // Of the character at `index` of the value's text.
  std::size_t of(std::size_t index);

 private:
  std::string_view source_;
  std::reference_wrapper<const Value> value_;
  std::size_t index_ = 0;   // of the value's text, up to which it was counted
  std::size_t at_;          // of the source, behind what was passed
  std::size_t wanted_ = 0;  // characters that are no white space, from `at_` to that of `index_`
};

// Where the character at `index` of `value.text` stands in the source, however the scalar is
// quoted, folded or escaped. The character must be no white space.
std::size_t offset_of(const Source& source, const Value& value, std::size_t index);

// Numbers as they are written, in JSON's spelling: `+.5` is 0.5, `0x10` is 16.
agent::Json to_json(const Value& value);
// The first number that JSON has no words for: infinite, none, or over 63 bits and not decimal.
const Value* find_beyond_json(const Value& value);

}  // namespace config
