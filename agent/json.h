// JSON as the whole program uses it: key order kept, depth bounded, output always valid UTF-8.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

using Json = nlohmann::ordered_json;

// The value, or nullopt where the text is not one whole JSON value, nests deeper than `max_depth`
// (deeper values would overflow the stack later) or has too many values, each of which takes many
// times its text. Never throws.
std::optional<Json> parse_json(std::string_view text, int max_depth = 200);
// The same, and the first name that stands twice in one object of it, of which the last value
// counts; what readers differ in. nullopt: none does.
std::optional<Json> parse_json(std::string_view text, std::optional<std::string>& repeated_name);

// Likewise, the first such name of all, and the first one with two values. Of lists and objects
// each two are.
struct RepeatedNames {
  std::optional<std::string> first;
  std::optional<std::string> contradiction;
};
std::optional<Json> parse_json(std::string_view text, RepeatedNames& repeated);

// Whether it is JSON, whatever limits of parse_json() it is over. Keeps nothing of it.
bool is_json(std::string_view text);
inline constexpr std::size_t k_most_json_values = 4'000'000;
bool has_too_many_values(std::string_view json);

// One line, no spaces; invalid UTF-8 becomes U+FFFD. Numbers as they were read.
std::string dump(const Json& value);

// One text for all ways to write the same value: whatever the order of keys, blanks and escapes.
std::string canonical(const Json& value);
// And of a number: 1 for 1.0 and 10e-1.
std::string canonical_value(const Json& value);
// As canonical(), of a JSON text; of anything else the text itself.
std::string canonical_text(std::string_view text);

// Puts behind `out` what dump() makes of the value, or of the text as a JSON string.
void append_json(std::string& out, const Json& value);
void append_json_text(std::string& out, std::string_view text);

// Numbers pass as they are written. One that neither an integer of 64 bits nor a double would write
// again in the same way (18446744073709551617, 1e400, 1.50, -0) is kept by its text, where
// nlohmann's own is_number() does not see it: these see both kinds.
bool is_number(const Json& value);
std::string numeral(const Json& number);  // its text
double real_of(const Json& number);       // the nearest; infinite where it is beyond all doubles
// By their digits, whatever their size: no double stands between them.
std::strong_ordering compare_numbers(const Json& left, const Json& right);
// Numbers as compare_numbers() has it (1 and 1.0), also inside lists and maps; maps in any order.
bool is_same_value(const Json& left, const Json& right);
// Without its decimals; nullopt where it is over 64 bits with a sign.
std::optional<long long> integer_of(const Json& number);

// Whole numbers are written as such: 3, not 3.0.
Json number_json(double value);

// Reads that cannot throw: the member's value where it exists and has the type, else the default.
// integer_at() cuts decimals off; a number over 64 bits is none.
std::string_view text_at(const Json& object, std::string_view key, std::string_view otherwise = {});
long long integer_at(const Json& object, std::string_view key, long long otherwise = 0);
double real_at(const Json& object, std::string_view key, double otherwise = 0);
bool bool_at(const Json& object, std::string_view key, bool otherwise = false);
// The member, or nullptr where `object` is no object, lacks it, or holds null there.
const Json* find(const Json& object, std::string_view key);
Json* find(Json& object, std::string_view key);

}  // namespace agent
