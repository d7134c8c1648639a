#include "agent/flow/value_type.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <string_view>
#include <utility>

namespace agent::flow {
namespace {

struct KindName {
  std::uint8_t kind;
  std::string_view words;
  std::string_view in_schema;
};
constexpr auto k_kind_names = std::to_array<KindName>({
    {ValueType::k_null, "null", "null"},
    {ValueType::k_boolean, "true or false", "boolean"},
    {ValueType::k_number, "a number", "number"},
    {ValueType::k_number, "a number", "integer"},
    {ValueType::k_text, "a text", "string"},
    {ValueType::k_list, "a list", "array"},
    {ValueType::k_map, "a map", "object"},
});

std::uint8_t kind_of(const Json& value) {
  return value.is_null()      ? ValueType::k_null
         : value.is_boolean() ? ValueType::k_boolean
         : is_number(value)   ? ValueType::k_number
         : value.is_string()  ? ValueType::k_text
         : value.is_array()   ? ValueType::k_list
                              : ValueType::k_map;
}

std::uint8_t kind_named(const Json& name) {
  const auto found = std::ranges::find_if(
      k_kind_names, [&](const KindName& one) { return name == Json(one.in_schema); });
  return found == k_kind_names.end() ? ValueType::k_any : found->kind;
}

ValueType one_of(const Json& values) {
  ValueType type{.kinds = 0, .values = std::vector<Json>(values.begin(), values.end())};
  for (const Json& value : values) {
    type.kinds |= kind_of(value);
  }
  return type;
}

ValueType truth() {
  return {.kinds = ValueType::k_boolean};
}

ValueType truth(bool value) {
  return {.kinds = ValueType::k_boolean, .values = std::vector{Json(value)}};
}

}  // namespace

std::string ValueType::words() const {
  std::string all;
  std::uint8_t told = 0;
  for (const KindName& one : k_kind_names) {
    if (may_be(one.kind) && (told & one.kind) == 0) {
      all += (all.empty() ? "" : " or ") + std::string(one.words);
      told |= one.kind;
    }
  }
  return all;
}

ValueType type_of_value(const Json& value) {
  return {.kinds = kind_of(value), .values = std::vector{value}};
}

ValueType type_of_schema(const Json& schema) {
  if (!schema.is_object()) {
    return {};  // true: anything
  }
  if (const Json* values = find(schema, "enum"); values != nullptr && values->is_array()) {
    return one_of(*values);
  }
  if (schema.contains("const")) {
    return type_of_value(schema["const"]);
  }
  const Json* type = find(schema, "type");
  if (type == nullptr) {
    return {};
  }
  ValueType known{.kinds = 0};
  for (const Json& name : type->is_array() ? *type : Json::array({*type})) {
    known.kinds |= kind_named(name);
  }
  return known;
}

class ExpressionType {
 public:
  using Operator = Expression::Operator;
  using Known = std::expected<ValueType, std::string>;

  ExpressionType(const Expression& expression, const TypeLookup& lookup)
      : expression_(expression), lookup_(lookup) {}

  Known whole() const { return of_node(expression_.nodes_.size() - 1); }

 private:
  Known of_node(std::size_t number) const {
    const Expression::Node& node = expression_.nodes_[number];
    switch (node.kind) {
      case Operator::path:
        return lookup_(expression_.paths_[node.left]);
      case Operator::literal:
        return type_of_value(expression_.literals_[node.left]);
      case Operator::negation:
        return negated(node);
      case Operator::conjunction:
      case Operator::disjunction:
        return combined(node);
      case Operator::equal:
      case Operator::unequal:
      case Operator::less:
      case Operator::at_most:
      case Operator::greater:
      case Operator::at_least:
        return compared(node);
    }
    return ValueType{};
  }

  std::string shown(std::size_t number) const {
    const Expression::Node& node = expression_.nodes_[number];
    return node.kind == Operator::path ? fmt::format("`{}`", expression_.paths_[node.left].shown())
           : node.kind == Operator::literal
               ? fmt::format("`{}`", one_line(dump(expression_.literals_[node.left]), 60))
               : std::string("what stands in parentheses");
  }

  Known truth_of(std::size_t number) const {
    auto type = of_node(number);
    if (type && !type->may_be(ValueType::k_boolean)) {
      return std::unexpected(
          fmt::format("{} is {}, not true or false", shown(number), type->words()));
    }
    return type;
  }

  Known negated(const Expression::Node& node) const {
    const auto operand = truth_of(node.left);
    if (!operand) {
      return operand;
    }
    return operand->is_only(true) ? truth(false) : operand->is_only(false) ? truth(true) : truth();
  }

  // What decides it alone is false for `and`, true for `or`.
  Known combined(const Expression::Node& node) const {
    const auto left = truth_of(node.left);
    const auto right = left ? truth_of(node.right) : left;
    if (!right) {
      return right;
    }
    const bool deciding = node.kind == Operator::disjunction;
    if (left->is_only(deciding) || right->is_only(deciding)) {
      return truth(deciding);
    }
    return left->is_only(!deciding) && right->is_only(!deciding) ? truth(!deciding) : truth();
  }

  Known compared(const Expression::Node& node) const {
    const auto left = of_node(node.left);
    const auto right = left ? of_node(node.right) : left;
    if (!right) {
      return right;
    }
    const auto both = static_cast<std::uint8_t>(left->kinds & right->kinds);
    if (node.kind != Operator::equal && node.kind != Operator::unequal) {
      return (both & (ValueType::k_number | ValueType::k_text)) != 0
                 ? Known(of_all_pairs(*left,
                                      *right,
                                      [&](const Json& one, const Json& other) {
                                        return holds_in_order(node.kind, one, other);
                                      }))
                 : mistake(node, *left, *right, "only numbers or texts are less or greater");
    }
    const bool is_about_null = left->is_only(nullptr) || right->is_only(nullptr);
    if (both == 0 && !is_about_null) {
      return mistake(node, *left, *right, "they are never equal");
    }
    return of_all_pairs(*left, *right, [&](const Json& one, const Json& other) {
      return is_same_value(one, other) == (node.kind == Operator::equal);
    });
  }

  // As the values are compared when it runs.
  static bool holds_in_order(Operator kind, const Json& left, const Json& right) {
    const bool are_numbers = is_number(left) && is_number(right);
    if (!are_numbers && !(left.is_string() && right.is_string())) {
      return false;
    }
    const std::strong_ordering order =
        are_numbers ? compare_numbers(left, right)
                    : left.get_ref<const std::string&>() <=> right.get_ref<const std::string&>();
    return kind == Operator::less      ? order < 0
           : kind == Operator::at_most ? order <= 0
           : kind == Operator::greater ? order > 0
                                       : order >= 0;
  }

  // Known where it is the same for each that they may be.
  static ValueType of_all_pairs(const ValueType& left, const ValueType& right, const auto& holds) {
    if (!left.values || !right.values) {
      return truth();
    }
    std::size_t holding = 0;
    for (const Json& one : *left.values) {
      holding += static_cast<std::size_t>(std::ranges::count_if(
          *right.values, [&](const Json& other) { return holds(one, other); }));
    }
    return holding == 0                                            ? truth(false)
           : holding == left.values->size() * right.values->size() ? truth(true)
                                                                   : truth();
  }

  std::unexpected<std::string> mistake(const Expression::Node& node,
                                       const ValueType& left,
                                       const ValueType& right,
                                       std::string_view why) const {
    return std::unexpected(fmt::format("{} is {}, and {} is {}: {}",
                                       shown(node.left),
                                       left.words(),
                                       shown(node.right),
                                       right.words(),
                                       why));
  }

  const Expression& expression_;
  const TypeLookup& lookup_;
};

std::expected<ValueType, std::string> type_of(const Expression& expression,
                                              const TypeLookup& lookup) {
  return ExpressionType(expression, lookup).whole();
}

}  // namespace agent::flow
