// Adds a rule to the user's settings without touching the rest of the file.
#include "agent/json.h"
#include "config/read.h"
#include "config/user_config.h"
#include "config/yaml/yaml.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace config {
namespace {

struct Insertion {
  std::size_t offset = 0;
  std::string text;
};

bool is_flow(const Source& source, const Value& value) {
  const char first = source.text()[value.span.offset];
  return first == '[' || first == '{';
}

// In front of the first thing in a map or list: on the same line in the flow form, else on a line
// of its own that begins as that one.
Insertion in_front(const Source& source, const Value& value, Span first, const std::string& text) {
  if (is_flow(source, value)) {
    return {.offset = value.span.offset + 1, .text = text + ", "};
  }
  const std::size_t begin = source.line_begin(source.line_of(first.offset));
  const std::string_view before = source.text().substr(begin, first.offset - begin);
  const std::size_t blanks = std::min(before.find_first_not_of(' '), before.size());
  return {.offset = begin, .text = std::string(blanks, ' ') + text + "\n"};
}

// Behind the colon of a key that has no value.
Insertion behind(const Source& source, const Entry& entry, const std::string& text) {
  const std::size_t end = entry.key_span.offset + entry.key_span.length;
  const std::size_t colon = source.text().find(':', end);
  return {.offset = std::min(colon, source.text().size() - 1) + 1, .text = text};
}

Insertion insertion(const Source& source, const Value& root, const std::string& rule) {
  const Entry* permissions = root.find("permissions");
  if (permissions == nullptr) {
    const bool is_open = !source.text().empty() && source.text().back() != '\n';
    return {.offset = source.text().size(),
            .text = fmt::format("{}permissions:\n  allow:\n    - {}\n", is_open ? "\n" : "", rule)};
  }
  const std::string entry = fmt::format("allow: [{}]", rule);
  const Value& map = permissions->value;
  if (map.kind != Kind::map) {
    return behind(source, *permissions, " {" + entry + "}");
  }
  const Entry* allow = map.find("allow");
  if (allow == nullptr && map.entries.empty()) {
    return {.offset = map.span.offset + 1, .text = entry};
  }
  if (allow == nullptr) {
    return in_front(source, map, map.entries.front().key_span, entry);
  }
  const Value& list = allow->value;
  if (list.kind != Kind::list) {
    return behind(source, *allow, fmt::format(" [{}]", rule));
  }
  if (list.items.empty()) {
    return {.offset = list.span.offset + 1, .text = rule};
  }
  return in_front(
      source, list, list.items.front().span, is_flow(source, list) ? rule : "- " + rule);
}

}  // namespace

agent::Result<std::string> with_allowed(const std::string& text, const std::string& rule) {
  const auto has_it = [&](const std::string& one) {
    const auto config = parse_user_config(one, "config.yaml");
    return config &&
           std::ranges::find(config->permissions.allow, rule, &agent::PermissionRule::text) !=
               config->permissions.allow.end();
  };
  std::string changed = text;
  if (auto source = Source::create(text, "config.yaml")) {
    Problems problems(*source);
    const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems);
    const auto [offset, added] =
        insertion(*source, root.value_or(Value{}), agent::dump(agent::Json(rule)));
    changed = std::string(source->text());
    changed.insert(std::min(offset, changed.size()), added);
  }
  if (!has_it(changed)) {
    return agent::fail(agent::Code::config_invalid,
                       "the rule cannot be added to the settings as they are written",
                       fmt::format("add it by hand: permissions: {{allow: [{}]}}",
                                   agent::dump(agent::Json(rule))));
  }
  return changed;
}

}  // namespace config
