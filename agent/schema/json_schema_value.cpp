#include "agent/schema/json_schema_value.h"

#include "agent/schema/decimal.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
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

// So that no values are easily found that differ and have the same.
std::size_t mixed(std::size_t one, std::size_t other) {
  constexpr std::size_t k_odd = 0x9E3779B97F4A7C15;
  const std::size_t sum = (one ^ (other + k_odd + (one << 6) + (one >> 2))) * k_odd;
  return sum ^ (sum >> 32);
}

// Its beginning, of about `room` bytes as JSON; of a whole that is shorter, all.
Json beginning_of(const Json& value, std::size_t& room) {
  if (value.is_string()) {
    const std::string_view text = prefix(value.get_ref<const std::string&>(), room + 4);
    room -= std::min(room, text.size());
    return text;
  }
  if (!value.is_structured()) {
    return value;
  }
  Json beginning = value.is_object() ? Json::object() : Json::array();
  for (auto it = value.begin(); it != value.end() && room > 0; ++it) {
    --room;
    if (value.is_object()) {
      const std::string_view key = prefix(it.key(), room + 1);
      room -= std::min(room, key.size());
      beginning.emplace(key, beginning_of(*it, room));
    } else {
      beginning.push_back(beginning_of(*it, room));
    }
  }
  return beginning;
}

}  // namespace

std::size_t hash_of(const Json& value) {
  if (is_number(value)) {
    const Decimal number = decimal_of(value);
    return mixed(std::hash<std::string>{}(number.digits),
                 static_cast<std::size_t>(number.exponent));
  }
  std::size_t hash = type_of(value);
  if (value.is_array()) {
    for (const Json& item : value) {
      hash = mixed(hash, hash_of(item));
    }
  } else if (value.is_object()) {
    for (auto it = value.begin(); it != value.end(); ++it) {
      hash += mixed(std::hash<std::string>{}(it.key()), hash_of(*it));
    }
  } else if (value.is_string()) {
    hash += std::hash<std::string>{}(value.get_ref<const std::string&>());
  } else {
    hash += value == Json(true) ? 1 : 0;
  }
  return hash;
}

std::size_t weight_of(const Json& value) {
  constexpr std::size_t k_bytes_a_value = 16;
  if (value.is_string()) {
    return 1 + value.get_ref<const std::string&>().size() / k_bytes_a_value;
  }
  if (value.is_binary()) {  // a number that is kept by its text
    return 1 + value.get_binary().size() / k_bytes_a_value;
  }
  std::size_t weight = 1;
  for (auto it = value.begin(); value.is_structured() && it != value.end(); ++it) {
    weight += weight_of(*it) + (value.is_object() ? it.key().size() / k_bytes_a_value : 0);
  }
  return weight;
}

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
      return k_integer;
    case Json::value_t::number_float:
    case Json::value_t::binary:  // a number that is kept by its text
      return decimal_of(value).is_whole() ? k_integer : k_number;
    case Json::value_t::boolean:
      return 32;
    case Json::value_t::null:
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
  if (is_number(a) && is_number(b)) {
    return decimal_of(a) == decimal_of(b);
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
  std::unordered_map<std::string_view, const Json*> members;  // where the order is another one
  auto beside = b.begin();
  for (auto it = a.begin(); it != a.end(); ++it, ++beside) {
    const bool is_in_order = members.empty() && it.key() == beside.key();
    if (!is_in_order && members.empty()) {
      for (auto other = b.begin(); other != b.end(); ++other) {
        members.emplace(other.key(), &*other);
      }
    }
    const auto found = is_in_order ? members.end() : members.find(it.key());
    if (!is_in_order && found == members.end()) {
      return false;
    }
    if (!is_equal(*it, is_in_order ? *beside : *found->second)) {
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

std::string excerpt(const Json& value) {
  std::size_t room = k_max_excerpt;
  const std::string text = dump(beginning_of(value, room));
  return text.size() <= k_max_excerpt ? text : std::string(prefix(text, k_max_excerpt)) + "…";
}
}  // namespace agent::schema
