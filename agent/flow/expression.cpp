#include "agent/flow/expression.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <system_error>
#include <utility>

namespace agent::flow {
namespace {

constexpr int k_deepest = 64;

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_in_name(char c) {
  return begins_name(c) || is_digit(c) || c == '-';
}

}  // namespace

std::string Path::shown(std::size_t parts_shown) const {
  std::string text = name;
  for (std::size_t at = 0; at < parts_shown; ++at) {
    if (const auto* member = std::get_if<std::string>(&parts[at])) {
      text += "." + *member;
    } else if (const auto* index = std::get_if<std::size_t>(&parts[at])) {
      text += fmt::format("[{}]", *index);
    } else {
      text += "[*]";
    }
  }
  return text;
}

// ---- reading ----

class ExpressionReader {
 public:
  using Operator = Expression::Operator;
  using Node = std::expected<std::size_t, ExpressionMistake>;

  explicit ExpressionReader(std::string_view text) : text_(text) { result_.text_ = text; }

  std::expected<Expression, ExpressionMistake> read() {
    if (text_.size() > Expression::k_most_bytes) {
      return fail(fmt::format("an expression has at most {} bytes", Expression::k_most_bytes));
    }
    if (auto whole = disjunction(0); !whole) {
      return std::unexpected(std::move(whole).error());
    }
    skip_blanks();
    if (at_ < text_.size()) {
      return fail("the expression does not go on like this");
    }
    return std::move(result_);
  }

 private:
  std::unexpected<ExpressionMistake> fail(std::string message) const {
    return std::unexpected(ExpressionMistake{.offset = at_, .message = std::move(message)});
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) {
      ++at_;
    }
  }

  // A word is one only where no longer name begins with it.
  bool take(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) {
      return false;
    }
    const std::size_t end = at_ + sign.size();
    if (begins_name(sign.front()) && end < text_.size() && is_in_name(text_[end])) {
      return false;
    }
    at_ = end;
    return true;
  }

  std::size_t add(Operator kind, std::size_t left, std::size_t right = 0) {
    result_.nodes_.push_back({.kind = kind, .left = left, .right = right});
    return result_.nodes_.size() - 1;
  }

  Node disjunction(int depth) {
    Node left = conjunction(depth);
    while (left && (take("||") || take("or"))) {
      const Node right = conjunction(depth);
      left = right ? Node(add(Operator::disjunction, *left, *right)) : right;
    }
    return left;
  }

  Node conjunction(int depth) {
    Node left = negation(depth);
    while (left && (take("&&") || take("and"))) {
      const Node right = negation(depth);
      left = right ? Node(add(Operator::conjunction, *left, *right)) : right;
    }
    return left;
  }

  bool takes_not() {
    skip_blanks();
    return !text_.substr(at_).starts_with("!=") && (take("!") || take("not"));
  }

  Node negation(int depth) {
    if (depth > k_deepest) {
      return fail(fmt::format("the expression nests deeper than {} levels", k_deepest));
    }
    if (!takes_not()) {
      return comparison(depth);
    }
    const Node operand = negation(depth + 1);
    return operand ? Node(add(Operator::negation, *operand)) : operand;
  }

  Node comparison(int depth) {
    static constexpr auto k_signs = std::to_array<std::pair<std::string_view, Operator>>({
        {"==", Operator::equal},
        {"!=", Operator::unequal},
        {"<=", Operator::at_most},
        {">=", Operator::at_least},
        {"<", Operator::less},
        {">", Operator::greater},
    });
    const Node left = operand(depth);
    if (!left) {
      return left;
    }
    for (const auto& [sign, kind] : k_signs) {
      if (take(sign)) {
        const Node right = operand(depth);
        return right ? Node(add(kind, *left, *right)) : right;
      }
    }
    return left;
  }

  Node operand(int depth) {
    skip_blanks();
    if (at_ == text_.size()) {
      return fail(at_ == 0 ? "the expression is empty" : "the expression ends too early");
    }
    if (take("(")) {
      Node inner = disjunction(depth + 1);
      if (inner && !take(")")) {
        return fail("a parenthesis is not closed");
      }
      return inner;
    }
    const char first = text_[at_];
    if (first == '"' || first == '\'') {
      return quoted(first);
    }
    if (is_digit(first) || first == '-') {
      return number();
    }
    for (const std::string_view word : {"true", "false", "null"}) {
      if (take(word)) {
        return literal(*parse_json(word));
      }
    }
    if (take("[]")) {
      return literal(Json::array());
    }
    if (begins_name(first)) {
      return path();
    }
    return fail("here a name, a number, a text or a parenthesis is expected");
  }

  Node literal(Json value) {
    result_.literals_.push_back(std::move(value));
    return add(Operator::literal, result_.literals_.size() - 1);
  }

  Node quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      return fail("a text is not closed");
    }
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return literal(std::string(inside));
  }

  Node number() {
    std::size_t end = at_ + 1;
    while (end < text_.size() &&
           (is_digit(text_[end]) || std::string_view(".eE+-").contains(text_[end]))) {
      ++end;
    }
    auto value = parse_json(text_.substr(at_, end - at_));
    if (!value || !is_number(*value)) {
      return fail(fmt::format("`{}` is not a number", text_.substr(at_, end - at_)));
    }
    at_ = end;
    return literal(*std::move(value));
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_in_name(text_[at_])) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  Node path() {
    Path path{.name = {}, .parts = {}, .offset = at_};
    path.name = name();
    while (at_ < text_.size()) {
      if (text_[at_] == '.') {
        ++at_;
        if (at_ == text_.size() || !begins_name(text_[at_])) {
          return fail("behind a `.` a name is expected");
        }
        path.parts.emplace_back(name());
      } else if (text_[at_] == '[') {
        auto part = index();
        if (!part) {
          return std::unexpected(std::move(part).error());
        }
        path.parts.push_back(*std::move(part));
      } else {
        break;
      }
    }
    path.length = at_ - path.offset;
    result_.paths_.push_back(std::move(path));
    return add(Operator::path, result_.paths_.size() - 1);
  }

  std::expected<Path::Part, ExpressionMistake> index() {
    const std::size_t end = text_.find(']', at_);
    const std::string_view inside = end == std::string_view::npos
                                        ? std::string_view()
                                        : trimmed(text_.substr(at_ + 1, end - at_ - 1));
    std::size_t number = 0;
    const auto [rest, error] =
        std::from_chars(inside.data(), inside.data() + inside.size(), number);
    const bool is_number = error == std::errc() && rest == inside.data() + inside.size();
    if (inside != "*" && !is_number) {
      return fail("in brackets a number from 0 or `*` is expected");
    }
    at_ = end + 1;
    return is_number ? Path::Part(number) : Path::Part(Path::Each{});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Expression result_;
};

std::expected<Expression, ExpressionMistake> Expression::parse(std::string_view text) {
  return ExpressionReader(text).read();
}

const Path* Expression::as_path() const {
  return nodes_.size() == 1 && nodes_.front().kind == Operator::path ? &paths_.front() : nullptr;
}

// ---- its value ----

class ExpressionValue {
 public:
  using Operator = Expression::Operator;

  ExpressionValue(const Expression& expression, const Lookup& lookup)
      : expression_(expression), lookup_(lookup) {}

  Result<Json> of_node(std::size_t number) const {
    const Expression::Node& node = expression_.nodes_[number];
    switch (node.kind) {
      case Operator::literal:
        return expression_.literals_[node.left];
      case Operator::path:
        return of_path(expression_.paths_[node.left]);
      case Operator::negation: {
        TRY_ASSIGN(const bool operand, truth_of_node(node.left));
        return Json(!operand);
      }
      case Operator::conjunction:
      case Operator::disjunction:
        return combined(node);
      case Operator::equal:
      case Operator::unequal:
      case Operator::less:
      case Operator::at_most:
      case Operator::greater:
      case Operator::at_least:
        break;
    }
    return compared(node);
  }

  Result<bool> truth_of_node(std::size_t number) const {
    TRY_ASSIGN(const Json value, of_node(number));
    if (!value.is_boolean()) {
      return invalid(fmt::format("{} is neither true nor false", shown(value)));
    }
    return value.get<bool>();
  }

 private:
  std::unexpected<Error> invalid(std::string why) const {
    return agent::fail(
        Code::team_invalid,
        fmt::format("the expression `{}`: {}", one_line(expression_.text(), 100), why),
        "`when` keeps a step from being run without what it names; null is what a skipped step "
        "brings");
  }

  static std::string shown(const Json& value) {
    return fmt::format("`{}`", one_line(dump(value), 60));
  }

  // What is behind the operator counts only where the first operand does not decide.
  Result<Json> combined(const Expression::Node& node) const {
    TRY_ASSIGN(const bool left, truth_of_node(node.left));
    if (left == (node.kind == Operator::disjunction)) {
      return Json(left);
    }
    TRY_ASSIGN(const bool right, truth_of_node(node.right));
    return Json(right);
  }

  Result<Json> compared(const Expression::Node& node) const {
    TRY_ASSIGN(const Json left, of_node(node.left));
    TRY_ASSIGN(const Json right, of_node(node.right));
    const bool are_numbers = is_number(left) && is_number(right);
    if (node.kind == Operator::equal || node.kind == Operator::unequal) {
      return Json(is_same_value(left, right) == (node.kind == Operator::equal));
    }
    if (left.is_null() || right.is_null()) {  // of what a step that was skipped has not brought
      return Json(false);
    }
    if (!are_numbers && !(left.is_string() && right.is_string())) {
      return invalid(fmt::format("{} and {} have no order", shown(left), shown(right)));
    }
    const std::strong_ordering order =
        are_numbers ? compare_numbers(left, right)
                    : left.get_ref<const std::string&>() <=> right.get_ref<const std::string&>();
    return Json(node.kind == Operator::less      ? order < 0
                : node.kind == Operator::at_most ? order <= 0
                : node.kind == Operator::greater ? order > 0
                                                 : order >= 0);
  }

  Result<Json> of_path(const Path& path) const {
    const Json* value = lookup_(path.name);
    return value == nullptr ? Result<Json>(Json()) : follow(path, 0, *value);
  }

  Result<Json> follow(const Path& path, std::size_t part, const Json& from) const {
    const Json* value = &from;
    for (; part < path.parts.size(); ++part) {
      if (std::holds_alternative<Path::Each>(path.parts[part])) {
        return each(path, part, *value);
      }
      if (const auto* index = std::get_if<std::size_t>(&path.parts[part])) {
        if (!value->is_array() || *index >= value->size()) {
          return invalid(fmt::format("`{}` has no item {}", path.shown(part), *index));
        }
        value = &(*value)[*index];
        continue;
      }
      const auto& member = std::get<std::string>(path.parts[part]);
      if (value->is_null()) {
        return Json();  // a step that was skipped, or a member that may be missing
      }
      if (!value->is_object()) {
        return invalid(
            fmt::format("`{}` is {}, which has no `{}`", path.shown(part), shown(*value), member));
      }
      const auto found = value->find(member);
      if (found == value->end()) {
        return Json();
      }
      value = &*found;
    }
    return *value;
  }

  Result<Json> each(const Path& path, std::size_t part, const Json& list) const {
    if (!list.is_array()) {
      return invalid(fmt::format("`{}` is not a list", path.shown(part)));
    }
    Json all = Json::array();
    for (const Json& item : list) {
      TRY_ASSIGN(Json value, follow(path, part + 1, item));
      all.push_back(std::move(value));
    }
    return all;
  }

  const Expression& expression_;
  const Lookup& lookup_;
};

Result<Json> Expression::value(const Lookup& lookup) const {
  return ExpressionValue(*this, lookup).of_node(nodes_.size() - 1);
}

Result<bool> Expression::is_true(const Lookup& lookup) const {
  return ExpressionValue(*this, lookup).truth_of_node(nodes_.size() - 1);
}

}  // namespace agent::flow
