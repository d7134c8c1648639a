// Values out of a tree that check() has seen: what is missing or of another type is left out.
#pragma once
#include "agent/duration.h"
#include "agent/money.h"
#include "agent/spec.h"
#include "config/yaml/tree.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

inline const Value* value_at(const Value& map, std::string_view key) {
  const Entry* entry = map.find(key);
  return entry == nullptr || entry->value.kind == Kind::null ? nullptr : &entry->value;
}

// What is not there is empty.
inline const Value& map_at(const Value& map, std::string_view key) {
  static const Value k_empty;
  const Value* value = value_at(map, key);
  return value != nullptr ? *value : k_empty;
}

inline std::string text_at(const Value& map,
                           std::string_view key,
                           std::string_view otherwise = {}) {
  const Value* value = value_at(map, key);
  return value != nullptr && value->kind == Kind::text ? value->text : std::string(otherwise);
}

// Of the items of a list.
inline std::vector<std::string> texts_at(const Value& map, std::string_view key) {
  std::vector<std::string> texts;
  if (const Value* list = value_at(map, key)) {
    for (const Value& item : list->items) {
      texts.push_back(item.text);
    }
  }
  return texts;
}

inline bool boolean_at(const Value& map, std::string_view key, bool otherwise) {
  const Value* value = value_at(map, key);
  return value != nullptr ? boolean_of(*value).value_or(otherwise) : otherwise;
}

inline std::optional<agent::Milliseconds> duration_at(const Value& map, std::string_view key) {
  const Value* value = value_at(map, key);
  return value != nullptr && value->kind == Kind::text ? agent::parse_duration(value->text)
                                                       : std::nullopt;
}

inline std::optional<agent::Money> money_at(const Value& map, std::string_view key) {
  const Value* value = value_at(map, key);
  return value != nullptr ? agent::Money::parse(value->text) : std::nullopt;
}

inline std::optional<std::int64_t> count_at(const Value& map, std::string_view key) {
  const Value* value = value_at(map, key);
  if (value == nullptr) {
    return std::nullopt;
  }
  return value->kind == Kind::text ? agent::parse_count(value->text) : integer_of(*value);
}

}  // namespace config
