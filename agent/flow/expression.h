// Expressions of a flow: they name what steps have brought, compare and combine it, and do nothing
// else.
//
//     test.exit_code == 0 and plan.output.files != []
//     fix[*].text
//
// or, and, not (also || && !) combine true and false; == and != compare anything, < <= > >= numbers
// with numbers or texts with texts. A path begins with a name and goes on with `.member`, `[2]` or
// `[*]`, which is the rest of the path for each item of a list. Literals are as in JSON; texts
// stand in double or single quotes.
#pragma once
#include "agent/json.h"
#include "agent/result.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agent::flow {

struct Path {
  struct Each {};                                             // [*]
  using Part = std::variant<std::string, std::size_t, Each>;  // .member, [index]

  std::string name;  // what it begins with: a step, `item`, `prompt`, `parameters`
  std::vector<Part> parts;
  std::size_t offset = 0;  // of the name, in the expression's text
  std::size_t length = 0;  // of the whole path

  // "plan.output.files", of its first parts.
  std::string shown(std::size_t parts_shown) const;
  std::string shown() const { return shown(parts.size()); }
};

// What stands at that place is no expression.
struct ExpressionMistake {
  std::size_t offset = 0;
  std::string message;
};

// The value that a path's name stands for; null: it has none.
using Lookup = std::function<const Json*(std::string_view name)>;

class Expression {
 public:
  static constexpr std::size_t k_most_bytes = 4'096;

  static std::expected<Expression, ExpressionMistake> parse(std::string_view text);

  const std::string& text() const { return text_; }
  // All paths in it, in the order of the text.
  const std::vector<Path>& paths() const { return paths_; }
  // The one path that it is, where it is no more; null: it is more.
  const Path* as_path() const;

  // A member that is not there is null; team.invalid for an index or a member of what has none, and
  // for operands of the wrong kind.
  Result<Json> value(const Lookup& lookup) const;
  // team.invalid also where it is neither true nor false.
  Result<bool> is_true(const Lookup& lookup) const;

 private:
  friend class ExpressionReader;
  friend class ExpressionValue;
  friend class ExpressionType;

  enum class Operator : std::uint8_t {
    path,
    literal,
    negation,
    conjunction,
    disjunction,
    equal,
    unequal,
    less,
    at_most,
    greater,
    at_least
  };
  // By their numbers in nodes_; an operand comes before its operator.
  struct Node {
    Operator kind = Operator::literal;
    std::size_t left = 0;  // or the number in paths_ or literals_
    std::size_t right = 0;
  };

  std::string text_;
  std::vector<Node> nodes_;  // the last one is the whole
  std::vector<Path> paths_;
  std::vector<Json> literals_;
};

}  // namespace agent::flow
