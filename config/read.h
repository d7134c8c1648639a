// Values out of a tree that check() has seen: what is missing or of another type is left out.
#pragma once
#include "agent/duration.h"
#include "agent/money.h"
#include "agent/price.h"
#include "agent/spec.h"
#include "config/tree.h"

#include <optional>
#include <string>
#include <string_view>

namespace config {

inline const Value* value_at(const Value& map, std::string_view key) {
  const Entry* entry = map.find(key);
  return entry == nullptr || entry->value.kind == Kind::null ? nullptr : &entry->value;
}

inline std::string text_at(const Value& map,
                           std::string_view key,
                           std::string_view otherwise = {}) {
  const Value* value = value_at(map, key);
  return value != nullptr && value->kind == Kind::text ? value->text : std::string(otherwise);
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

// Dollars per million tokens; nullopt where there is no such map.
inline std::optional<agent::Price> price_at(const Value& map, std::string_view key) {
  const Value* rates = value_at(map, key);
  if (rates == nullptr || rates->kind != Kind::map) {
    return std::nullopt;
  }
  const auto rate_at = [&](std::string_view name) -> std::optional<agent::Rate> {
    const auto amount = money_at(*rates, name);
    return amount ? std::optional(agent::Rate{.base = *amount}) : std::nullopt;
  };
  return agent::Price{.input = rate_at("input").value_or(agent::Rate{}),
                      .output = rate_at("output").value_or(agent::Rate{}),
                      .cache_read = rate_at("cache_read"),
                      .cache_write = rate_at("cache_write"),
                      .reasoning = rate_at("reasoning")};
}

inline std::optional<std::int64_t> count_at(const Value& map, std::string_view key) {
  const Value* value = value_at(map, key);
  if (value == nullptr) {
    return std::nullopt;
  }
  return value->kind == Kind::text ? agent::parse_count(value->text) : integer_of(*value);
}

}  // namespace config
