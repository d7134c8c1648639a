#include "agent/flow/names.h"

#include "agent/template.h"

#include <algorithm>
#include <utility>

namespace agent::flow {
namespace {

void add(std::string_view text, std::vector<Expression>& expressions) {
  if (auto expression = Expression::parse(text)) {
    expressions.push_back(*std::move(expression));
  }
}

void add_tags(std::string_view text, std::vector<Expression>& expressions) {
  for (const TemplatePiece& piece : split_template(text)) {
    if (piece.kind == TemplatePiece::Kind::tag) {
      add(piece.text, expressions);
    }
  }
}

}  // namespace

std::vector<Expression> expressions_of(const StepSpec& step) {
  std::vector<Expression> expressions;
  add(step.when, expressions);
  add(step.for_each, expressions);
  add_tags(step.prompt, expressions);
  for (const auto& [name, text] : step.parameters) {
    add_tags(text, expressions);
  }
  return expressions;
}

bool names(const StepSpec& step, std::string_view name) {
  return std::ranges::any_of(expressions_of(step), [&](const Expression& expression) {
    return std::ranges::find(expression.paths(), name, &Path::name) != expression.paths().end();
  });
}

bool names_in(std::span<const StepSpec> steps, std::string_view name) {
  return std::ranges::any_of(steps, [&](const StepSpec& step) { return names(step, name); });
}

}  // namespace agent::flow
