#include "config/check.h"

#include "agent/duration.h"
#include "agent/money.h"
#include "agent/text.h"
#include "config/shapes.h"
#include "config/unknown_key.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace config {
namespace {

// The value as messages show it: one line, bounded, safe for a terminal.
std::string shown(const Value& value) {
  if (!value.is_scalar()) {
    return std::string(to_string(value.kind));
  }
  const std::string_view line = std::string_view(value.text).substr(0, value.text.find('\n'));
  return fmt::format("`{}`", agent::one_line(line, 60));
}

std::string number_text(double number) {
  return agent::dump(agent::number_json(number));
}

std::string article(Type type) {
  switch (type) {
    case Type::text:
    case Type::scalar:
    case Type::texts:
    case Type::text_or_map:
    case Type::boolean:
    case Type::boolean_or_map:
    case Type::anything:
      return std::string(to_string(type));
    case Type::money:
      return "an amount";
    case Type::integer:
    case Type::number:
    case Type::count:
    case Type::duration:
    case Type::choice:
    case Type::list:
    case Type::map:
    case Type::list_or_map:
    case Type::json_schema:
    case Type::map_or_path:
    case Type::anything_map:
      return fmt::format("a {}", to_string(type));
  }
  return {};
}

class Checker {
 public:
  Checker(std::span<const Key> table, std::span<const std::string> names, Problems& problems)
      : table_(table), names_(names), problems_(problems) {}

  // `path` is the table's, `shown_path` what the user wrote.
  void check_map(const Value& map, std::string_view path, const std::string& shown_path);

 private:
  void check_entry(const Entry& entry, std::string_view path, const std::string& shown_path);
  void check_value(const Value& value, const Key& key, const std::string& shown_path, Span name);
  void check_list(const Value& list, const Key& key, const std::string& shown_path);
  void check_text(const Value& value, const Key& key, const std::string& shown_path);
  void check_choice(const Value& value, const Key& key, const std::string& shown_path);
  void check_integer(const Value& value, const Key& key, const std::string& shown_path);
  void check_number(const Value& value, const Key& key, const std::string& shown_path);
  void check_count(const Value& value, const Key& key, const std::string& shown_path);
  void check_money(const Value& value, const Key& key, const std::string& shown_path);
  void check_duration(const Value& value, const Key& key, const std::string& shown_path);
  void refuse_type(const Value& value, const Key& key, const std::string& shown_path);
  void refuse_unknown(const Entry& entry, std::string_view path, const std::string& shown_path);
  bool is_misplaced_name(const Entry& entry, std::string_view path) const;
  std::string example(const Key& key) const;
  double minimum(const Key& key) const { return std::max(key.min, 1.0); }

  std::span<const Key> table_;
  std::span<const std::string> names_;
  Problems& problems_;
};

std::string Checker::example(const Key& key) const {
  const std::string_view name = last_part(key.path);
  if (key.example.empty()) {
    return {};
  }
  if (name == "*" || name.ends_with("[]")) {
    return fmt::format("for example {}", key.example);
  }
  return fmt::format("for example `{}: {}`", name, key.example);
}

void Checker::refuse_type(const Value& value, const Key& key, const std::string& shown_path) {
  std::string help = example(key);
  if (key.type == Type::boolean && value.kind == Kind::text) {
    help = "write `true` or `false`; words like yes, no and on are text in YAML 1.2";
  } else if (key.type == Type::text && value.is_scalar()) {
    help = fmt::format("put it in quotes: \"{}\"", value.text);
  } else if (last_part(key.path) == "command" && value.kind == Kind::text) {
    help = "write a list, the program first: `command: [make, test]`";
  }
  problems_.add(
      value.span,
      fmt::format("`{}` must be {}, not {}", shown_path, article(key.type), to_string(value.kind)),
      std::move(help));
}

void Checker::check_text(const Value& value, const Key& key, const std::string& shown_path) {
  if (value.kind != Kind::text) {
    refuse_type(value, key, shown_path);
  } else if (!fits(key.shape, value.text)) {
    problems_.add(
        value.span, fmt::format("`{}` must be {}", shown_path, describe(key.shape)), example(key));
  }
}

void Checker::check_choice(const Value& value, const Key& key, const std::string& shown_path) {
  const auto words = key.words();
  const bool is_text = value.kind == Kind::text;
  if (is_text && std::ranges::find(words, std::string_view(value.text)) != words.end()) {
    return;
  }
  const auto meant =
      is_text ? agent::nearest(value.text, std::span<const std::string_view>(words)) : std::nullopt;
  problems_.add(value.span,
                fmt::format("`{}` cannot be {}", shown_path, shown(value)),
                meant ? fmt::format("did you mean `{}`?", *meant)
                      : fmt::format("one of: {}", fmt::join(words, ", ")));
}

void Checker::check_integer(const Value& value, const Key& key, const std::string& shown_path) {
  if (value.kind != Kind::integer) {
    refuse_type(value, key, shown_path);
    return;
  }
  const double number = number_of(value).value_or(0);
  if (number >= key.min && number <= key.max) {
    return;
  }
  if (key.min == key.max) {
    problems_.add(value.span,
                  fmt::format("`{}` {} is not supported", shown_path, value.text),
                  fmt::format("write `{}: {}`", shown_path, number_text(key.min)));
  } else if (key.max == std::numeric_limits<double>::max()) {
    problems_.add(value.span,
                  fmt::format("`{}` must be at least {}", shown_path, number_text(key.min)),
                  example(key));
  } else {
    problems_.add(
        value.span,
        fmt::format(
            "`{}` must be from {} to {}", shown_path, number_text(key.min), number_text(key.max)),
        example(key));
  }
}

void Checker::check_number(const Value& value, const Key& key, const std::string& shown_path) {
  const auto number = number_of(value);
  if (!number) {
    refuse_type(value, key, shown_path);
  } else if (!(*number >= key.min && *number <= key.max)) {
    problems_.add(
        value.span,
        fmt::format(
            "`{}` must be from {} to {}", shown_path, number_text(key.min), number_text(key.max)),
        example(key));
  }
}

void Checker::check_count(const Value& value, const Key& key, const std::string& shown_path) {
  const auto words = key.words();
  if (value.kind == Kind::text &&
      std::ranges::find(words, std::string_view(value.text)) != words.end()) {
    return;
  }
  const bool can_be_count = value.kind == Kind::integer || value.kind == Kind::text;
  const auto count = value.kind == Kind::integer ? integer_of(value)
                     : can_be_count              ? agent::parse_count(value.text)
                                                 : std::nullopt;
  const std::string or_word = words.empty() ? "" : fmt::format(", or `{}`", words.front());
  if (!count) {
    problems_.add(value.span,
                  fmt::format("`{}` must be a count{}, not {}", shown_path, or_word, shown(value)),
                  "write a whole number, or a short form such as 500k or 1.5M");
  } else if (*count == 0) {
    problems_.add(value.span,
                  fmt::format("`{}` cannot be 0", shown_path),
                  words.empty() ? std::string("leave it out for no limit")
                                : fmt::format("write `{}` for no limit", words.front()));
  } else if (static_cast<double>(*count) < minimum(key)) {
    problems_.add(
        value.span,
        fmt::format("`{}` must be at least {}{}", shown_path, number_text(minimum(key)), or_word),
        example(key));
  } else if (static_cast<double>(*count) > key.max) {
    problems_.add(
        value.span,
        fmt::format("`{}` must be at most {}{}", shown_path, number_text(key.max), or_word),
        example(key));
  }
}

void Checker::check_duration(const Value& value, const Key& key, const std::string& shown_path) {
  const bool is_bare_number =
      kind_of_plain(value.text) == Kind::integer || kind_of_plain(value.text) == Kind::number;
  if (value.is_scalar() && is_bare_number) {
    problems_.add(
        value.span,
        fmt::format("`{}` needs a unit", shown_path),
        fmt::format("write `{0}s` or `{0}m`; the units are ms, s, m, h and d", value.text));
    return;
  }
  if (value.kind != Kind::text) {
    refuse_type(value, key, shown_path);
    return;
  }
  const auto duration = agent::parse_duration(value.text);
  if (!duration) {
    problems_.add(value.span,
                  fmt::format("`{}` must be a duration, not {}", shown_path, shown(value)),
                  "write a number and a unit, such as 500ms, 10s, 2m or 1h30m");
  } else if (duration->count() == 0 && !key.may_be_zero) {
    problems_.add(
        value.span,
        fmt::format("`{}` cannot be 0", shown_path),
        key.default_value.empty() ? std::string("leave it out for no limit") : example(key));
  }
}

void Checker::check_money(const Value& value, const Key& key, const std::string& shown_path) {
  const bool can_be_money =
      value.kind == Kind::integer || value.kind == Kind::number || value.kind == Kind::text;
  const auto amount = can_be_money ? agent::Money::parse(value.text) : std::nullopt;
  if (!amount) {
    problems_.add(
        value.span,
        fmt::format("`{}` must be an amount in US dollars, not {}", shown_path, shown(value)),
        fmt::format("write a decimal number of at most {} decimals, such as 0.25",
                    agent::Money::k_decimals));
  } else if (*amount == agent::Money{} && !key.may_be_zero) {
    problems_.add(
        value.span, fmt::format("`{}` cannot be 0", shown_path), "leave it out for no limit");
  }
}

void Checker::check_list(const Value& list, const Key& key, const std::string& shown_path) {
  if (list.kind != Kind::list) {
    refuse_type(list, key, shown_path);
    return;
  }
  if (static_cast<double>(list.items.size()) < key.min) {
    problems_.add(list.span, fmt::format("`{}` is empty", shown_path), example(key));
  }
  const Key* item_key = find_key(table_, fmt::format("{}[]", key.path));
  for (const Value& item : list.items) {
    check_value(item, *item_key, shown_path + "[]", item.span);
  }
}

void Checker::check_value(const Value& value,
                          const Key& key,
                          const std::string& shown_path,
                          Span name) {
  if (value.kind == Kind::null) {
    problems_.add(value.text.empty() ? name : value.span,
                  fmt::format("`{}` has no value", shown_path),
                  key.required
                      ? example(key)
                      : "give it a value, or leave it out; `~` alone is not a value in YAML, "
                        "\"~\" is a text");
    return;
  }
  if (value.lacks_a_variable) {
    return;  // said already
  }
  switch (key.type) {
    case Type::text:
      check_text(value, key, shown_path);
      break;
    case Type::integer:
      check_integer(value, key, shown_path);
      break;
    case Type::number:
      check_number(value, key, shown_path);
      break;
    case Type::boolean:
      if (value.kind != Kind::boolean) {
        refuse_type(value, key, shown_path);
      }
      break;
    case Type::count:
      check_count(value, key, shown_path);
      break;
    case Type::duration:
      check_duration(value, key, shown_path);
      break;
    case Type::money:
      check_money(value, key, shown_path);
      break;
    case Type::choice:
      check_choice(value, key, shown_path);
      break;
    case Type::scalar:
      if (!value.is_scalar()) {
        refuse_type(value, key, shown_path);
      }
      break;
    case Type::texts:
      if (value.kind != Kind::text) {
        check_list(value, key, shown_path);
      }
      break;
    case Type::list:
      check_list(value, key, shown_path);
      break;
    case Type::text_or_map:
      if (value.kind == Kind::map) {
        check_map(value, key.map_path(), shown_path);
      } else {
        check_text(value, key, shown_path);
      }
      break;
    case Type::boolean_or_map:
      if (value.kind == Kind::map) {
        check_map(value, key.path, shown_path);
      } else if (!boolean_of(value)) {
        refuse_type(value, key, shown_path);
      }
      break;
    case Type::list_or_map:
      if (value.kind == Kind::map) {
        check_map(value, key.path, shown_path);
      } else {
        check_list(value, key, shown_path);
      }
      break;
    case Type::map:
      if (value.kind == Kind::map) {
        check_map(value, key.map_path(), shown_path);
      } else {
        refuse_type(value, key, shown_path);
      }
      break;
    case Type::map_or_path:
      if (value.kind != Kind::map) {
        check_text(value, key, shown_path);
      }
      break;
    case Type::json_schema:
    case Type::anything_map:
      if (value.kind != Kind::map) {
        refuse_type(value, key, shown_path);
      }
      break;
    case Type::anything:
      break;
  }
}

// `- shell:` with nothing under it, or with its settings beside it.
bool Checker::is_misplaced_name(const Entry& entry, std::string_view path) const {
  return std::ranges::find(names_, entry.key) != names_.end() &&
         find_key(table_, join(path, "*")) != nullptr &&
         find_key(table_, join(path, entry.key)) == nullptr;
}

void Checker::refuse_unknown(const Entry& entry,
                             std::string_view path,
                             const std::string& shown_path) {
  if (is_misplaced_name(entry, path)) {
    problems_.add(entry.key_span,
                  fmt::format("there are no settings under `{}`", entry.key),
                  fmt::format("write `- {0}`, or indent its settings under it: "
                              "`- {0}: {{timeout: 2m}}`",
                              entry.key));
    return;
  }
  Advice advice = unknown_key(table_, path, shown_path, entry.key);
  problems_.add(entry.key_span, std::move(advice.message), std::move(advice.help));
}

void Checker::check_entry(const Entry& entry,
                          std::string_view path,
                          const std::string& shown_path) {
  const Key* key = find_key(table_, join(path, entry.key));
  if (key == nullptr) {
    refuse_unknown(entry, path, shown_path);
  } else if (key->status == Status::later) {
    problems_.add(entry.key_span,
                  fmt::format("`{}` is not supported yet", join(shown_path, entry.key)),
                  "take it out; a later version will read it");
  } else {
    check_value(entry.value, *key, join(shown_path, entry.key), entry.key_span);
  }
}

void Checker::check_map(const Value& map, std::string_view path, const std::string& shown_path) {
  const Key* named = find_key(table_, join(path, "*"));
  const Key* self = find_key(table_, path);
  const auto own = children(table_, path);
  if (named != nullptr && (own.empty() || is_keyed_by_name(map, table_, path))) {
    const Shape shape = own.empty() && self != nullptr ? self->shape : named->shape;
    for (const Entry& entry : map.entries) {
      if (shape != Shape::header_name && is_free_key(entry.key)) {
        continue;
      }
      if (!fits(shape, entry.key)) {
        problems_.add(
            entry.key_span,
            fmt::format(
                "the name `{}` must be {}", agent::one_line(entry.key, 80), describe(shape)),
            "choose another name");
      }
      check_value(entry.value, *named, join(shown_path, entry.key), entry.key_span);
    }
    return;
  }
  for (const Entry& entry : map.entries) {
    if (!is_free_key(entry.key) && entry.key != "<<") {  // merge keys were refused before
      check_entry(entry, path, shown_path);
    }
  }
  if (std::ranges::any_of(map.entries,
                          [&](const Entry& entry) { return is_misplaced_name(entry, path); })) {
    return;
  }
  for (const Key* key : own) {
    if (key->required && map.find(last_part(key->path)) == nullptr) {
      problems_.add(map.span,
                    fmt::format("`{}` is missing", join(shown_path, last_part(key->path))),
                    example(*key));
    }
  }
}

// The keys without which no such file is one: "`version` and `name`".
std::string required_of(std::span<const Key> table) {
  std::vector<std::string> names;
  for (const Key& key : table) {
    if (key.required && last_part(key.path) == key.path) {
      names.push_back(fmt::format("`{}`", key.path));
    }
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace

bool is_free_key(std::string_view key) {
  return key.starts_with("x-");
}

bool is_keyed_by_name(const Value& map, std::span<const Key> table, std::string_view path) {
  return map.entries.size() == 1 && find_key(table, join(path, "*")) != nullptr &&
         find_key(table, join(path, map.entries[0].key)) == nullptr &&
         !is_free_key(map.entries[0].key) && map.entries[0].value.kind == Kind::map;
}

void check(const Value& root,
           std::span<const Key> table,
           std::span<const std::string> names,
           Problems& problems) {
  if (is_empty(root)) {
    problems.add(root.span, "the file is empty", "it needs " + required_of(table));
    return;
  }
  if (root.kind != Kind::map) {
    problems.add(root.span,
                 fmt::format("the file must be a map of keys, not {}", to_string(root.kind)),
                 "write `key: value` on each line");
    return;
  }
  Checker(table, names, problems).check_map(root, "", "");
}

}  // namespace config
