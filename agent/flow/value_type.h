// What is known of an expression's value before anything is run.
#pragma once
#include "agent/flow/expression.h"
#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace agent::flow {

struct ValueType {
  // Of each kind that it may be.
  static constexpr std::uint8_t k_null = 1;
  static constexpr std::uint8_t k_boolean = 2;
  static constexpr std::uint8_t k_number = 4;
  static constexpr std::uint8_t k_text = 8;
  static constexpr std::uint8_t k_list = 16;
  static constexpr std::uint8_t k_map = 32;
  static constexpr std::uint8_t k_any = 63;

  std::uint8_t kinds = k_any;
  std::optional<std::vector<Json>> values = {};  // it is one of these

  bool may_be(std::uint8_t some) const { return (kinds & some) != 0; }
  bool is_only(const Json& value) const { return values && *values == std::vector{value}; }
  std::string words() const;  // "a number or a text"
};

ValueType type_of_value(const Json& value);
// By `type`, `enum` and `const`; anything where it has none.
ValueType type_of_schema(const Json& schema);

using TypeLookup = std::function<ValueType(const Path&)>;

// The error is a mistake that no value of its paths mends.
std::expected<ValueType, std::string> type_of(const Expression& expression,
                                              const TypeLookup& lookup);

}  // namespace agent::flow
