#include "agent/schema/json_schema_value.h"

#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

namespace agent::schema {
namespace {

constexpr auto k_types = std::to_array<TypeRow>({
    {1, "object", "an object"},
    {2, "array", "an array"},
    {4, "string", "a string"},
    {8, "integer", "an integer"},
    {16, "number", "a number"},
    {32, "boolean", "a boolean"},
    {64, "null", "null"},
});
constexpr Types k_integer = 8;
constexpr Types k_number = 16;
constexpr std::size_t k_max_excerpt = 60;  // bytes

// Equal values have equal hashes, whatever the order of their members.
std::size_t hash_of(const Json& value) {
  if (value.is_number()) {
    return std::hash<double>{}(static_cast<double>(to_number(value)));
  }
  std::size_t hash = type_of(value);
  if (value.is_array()) {
    for (const Json& item : value) {
      hash = hash * 31 + hash_of(item);
    }
  } else if (value.is_object()) {
    for (auto it = value.begin(); it != value.end(); ++it) {
      hash += (std::hash<std::string>{}(it.key()) * 31) ^ hash_of(*it);
    }
  } else if (value.is_string()) {
    hash += std::hash<std::string>{}(value.get_ref<const std::string&>());
  } else {
    hash += value == Json(true) ? 1 : 0;
  }
  return hash;
}

}  // namespace

std::span<const TypeRow> all_types() {
  return k_types;
}

std::string phrase(Types types) {
  std::string out;
  for (const TypeRow& type : k_types) {
    if ((types & type.bit) != 0) {
      out += (out.empty() ? "" : " or ") + std::string(type.phrase);
    }
  }
  return out;
}

const Json* member(const Json& object, std::string_view key) {
  for (auto it = object.begin(); object.is_object() && it != object.end(); ++it) {
    if (it.key() == key) {
      return &*it;
    }
  }
  return nullptr;
}

// Exact for 64-bit integers and for doubles.
long double to_number(const Json& value) {
  if (value.is_number_unsigned()) {
    return static_cast<long double>(value.get<std::uint64_t>());
  }
  if (value.is_number_integer()) {
    return static_cast<long double>(value.get<std::int64_t>());
  }
  return static_cast<long double>(value.get<double>());
}

bool is_whole(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return std::isfinite(number) && std::floor(number) == number;
  }
  return value.is_number_integer();
}

Types type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      return 1;
    case Json::value_t::array:
      return 2;
    case Json::value_t::string:
      return 4;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return is_whole(value) ? k_integer : k_number;
    case Json::value_t::boolean:
      return 32;
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return 64;
}

bool has_type(const Json& value, Types types) {
  const Types type = type_of(value);
  return (type & types) != 0 || (type == k_integer && (types & k_number) != 0);
}

bool is_equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    return to_number(a) == to_number(b);
  }
  if (a.type() != b.type() || a.size() != b.size()) {
    return false;
  }
  if (a.is_array()) {
    return std::equal(a.begin(), a.end(), b.begin(), is_equal);
  }
  if (!a.is_object()) {
    return a == b;
  }
  for (auto it = a.begin(); it != a.end(); ++it) {
    const Json* other = member(b, it.key());
    if (other == nullptr || !is_equal(*it, *other)) {
      return false;
    }
  }
  return true;
}

// The two equal items that come first, if there are any.
std::optional<std::pair<std::size_t, std::size_t>> find_twins(const Json& array) {
  std::unordered_multimap<std::size_t, std::size_t> seen;
  for (std::size_t at = 0; at < array.size(); ++at) {
    const std::size_t hash = hash_of(array[at]);
    const auto [first, last] = seen.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (is_equal(array[it->second], array[at])) {
        return std::pair(it->second, at);
      }
    }
    seen.emplace(hash, at);
  }
  return std::nullopt;
}

bool is_multiple(const Json& value, const Json& factor) {
  const long double number = to_number(value);
  const long double unit = to_number(factor);
  const long double quotient = number / unit;
  if (std::fabs(quotient) >= 0x1p53L || (is_whole(value) && is_whole(factor))) {
    return std::fmod(number, unit) == 0;
  }
  // Decimal fractions are not exact in binary: 0.0075 is a multiple of 0.0001 all the same.
  const long double error = std::fabs(quotient) * 4 * std::numeric_limits<double>::epsilon();
  return std::fabs(quotient - std::round(quotient)) <= error;
}

std::string excerpt(const Json& value) {
  const std::string text = dump(value);
  return text.size() <= k_max_excerpt ? text : std::string(prefix(text, k_max_excerpt)) + "…";
}
}  // namespace agent::schema
