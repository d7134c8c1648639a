#include "config/expand.h"

#include "agent/text.h"
#include "config/check.h"
#include "config/shapes.h"
#include "config/template.h"
#include "config/yaml/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace config {
namespace {

constexpr std::string_view k_open = "${env:";
constexpr std::string_view k_escape = "$${";
constexpr char k_hole = '\x01';  // stands in no source

struct Reference {
  std::size_t offset = 0;
  std::size_t length = 0;  // 0: it is not closed
  std::string_view name;
  std::optional<std::string_view> standard;
};

// The next reference or escape at or after `at`; an escape has the name "$".
std::optional<Reference> next_reference(std::string_view text, std::size_t at) {
  for (std::size_t sign = text.find('$', at); sign != std::string_view::npos;
       sign = text.find('$', sign + 1)) {
    const std::string_view rest = text.substr(sign);
    if (rest.starts_with(k_escape)) {
      return Reference{.offset = sign, .length = k_escape.size(), .name = "$", .standard = {}};
    }
    if (!rest.starts_with(k_open)) {
      continue;
    }
    const std::size_t close = rest.find('}');
    if (close == std::string_view::npos) {
      return Reference{.offset = sign, .length = 0, .name = {}, .standard = {}};
    }
    Reference found{.offset = sign, .length = close + 1, .name = {}, .standard = {}};
    const std::string_view inside = rest.substr(k_open.size(), close - k_open.size());
    const std::size_t dash = inside.find(":-");
    found.name = inside.substr(0, dash);
    if (dash != std::string_view::npos) {
      found.standard = inside.substr(dash + 2);
    }
    return found;
  }
  return std::nullopt;
}

// Whether the variable's own value stands for the reference.
bool is_taken(const Reference& reference, const agent::Environment& environment) {
  const auto variable = environment.find(reference.name);
  return variable != environment.end() && (!variable->second.empty() || !reference.standard);
}

std::optional<std::string> value_of(const Reference& reference,
                                    const agent::Environment& environment) {
  if (is_taken(reference, environment)) {
    return agent::to_valid_utf8(environment.find(reference.name)->second);
  }
  if (reference.standard) {
    return std::string(*reference.standard);
  }
  return std::nullopt;
}

Span span_of(const Reference& reference, const Value& value, const Problems& problems) {
  // The place is looked for from the value's beginning: not for what nobody is shown.
  const std::size_t offset = problems.are_many()
                                 ? value.span.offset + reference.offset
                                 : offset_of(problems.source(), value, reference.offset);
  return {offset, std::max(reference.length, k_open.size())};
}

// What stands for the reference; nothing where it is a mistake, which is then reported.
std::string replacement(const Reference& reference,
                        Value& value,
                        const agent::Environment& environment,
                        Problems& problems) {
  const auto complain = [&](std::string message, std::string help) {
    problems.add(span_of(reference, value, problems), std::move(message), std::move(help));
    value.lacks_a_variable = true;
  };
  if (reference.length == 0) {
    complain("the reference to a variable is not closed", "write `${env:NAME}`");
    return {};
  }
  if (!fits(Shape::variable, reference.name)) {
    complain(fmt::format("`{}` is not a variable name", reference.name),
             "write `${env:NAME}` or `${env:NAME:-default}`");
    return {};
  }
  if (auto found = value_of(reference, environment)) {
    return *std::move(found);
  }
  complain(fmt::format("the environment variable `{}` is not set", reference.name),
           fmt::format("set it, or give a default: `${{env:{}:-default}}`", reference.name));
  return {};
}

class Expander {
 public:
  Expander(const agent::Environment& environment, Problems& problems)
      : environment_(environment), problems_(problems) {}

  // In a template, what comes from a variable is quoted for it.
  void expand(Value& value, bool is_template);
  void expand_below(Value& value);

 private:
  const agent::Environment& environment_;
  Problems& problems_;
  std::size_t left_ = YamlLimits().text_bytes;  // of what the references of all texts bring
  bool is_full_ = false;                        // one of them has brought more
};

void Expander::expand(Value& value, bool is_template) {
  if (value.text.contains('\0')) {
    problems_.add(value.span, "a NUL character in the text", "take the escape out");
  }
  std::string expanded;
  std::size_t at = 0;
  while (const auto reference = is_full_ ? std::nullopt : next_reference(value.text, at)) {
    expanded.append(value.text, at, reference->offset - at);
    if (reference->name == "$") {
      expanded += "${";
    } else {
      std::string found = replacement(*reference, value, environment_, problems_);
      found = is_template ? quoted_for_template(found) : std::move(found);
      if (found.size() > left_) {
        is_full_ = true;
        problems_.add(span_of(*reference, value, problems_),
                      fmt::format("the variables of the file bring more than {} bytes of text",
                                  YamlLimits().text_bytes),
                      "name fewer of them, or smaller ones");
        return;
      }
      left_ -= found.size();
      expanded += found;
      if (is_taken(*reference, environment_)) {
        value.variables.emplace_back(reference->name);
      }
    }
    at = reference->offset + std::max(reference->length, k_open.size());
    if (reference->name == "$") {
      at = reference->offset + k_escape.size();
    }
  }
  expanded.append(value.text, std::min(at, value.text.size()));
  value.text = std::move(expanded);
}

void Expander::expand_below(Value& value) {
  if (value.kind == Kind::text) {
    expand(value, false);
  }
  for (Value& item : value.items) {
    expand_below(item);
  }
  for (Entry& entry : value.entries) {
    expand_below(entry.value);
  }
}

}  // namespace

std::string without_references(std::string_view text) {
  std::string masked(text);
  std::size_t at = 0;
  while (const auto reference = next_reference(text, at)) {
    const std::size_t length = std::max(reference->length, std::size_t{1});
    if (reference->name != "$") {
      std::fill_n(masked.begin() + static_cast<std::ptrdiff_t>(reference->offset), length, k_hole);
    }
    at = reference->offset + length;
  }
  return masked;
}

void expand_environment(Value& root, const agent::Environment& environment, Problems& problems) {
  Expander expander(environment, problems);
  for (Entry& entry : root.entries) {
    const bool is_template = entry.key == "instructions" || entry.key == "prompt";
    if (is_template && entry.value.kind == Kind::text) {
      expander.expand(entry.value, true);
    } else if (!is_free_key(entry.key)) {
      expander.expand_below(entry.value);
    }
  }
}

}  // namespace config
