// Adds an item to a list of the user's settings without touching the rest of the file.
#include "agent/json.h"
#include "config/read.h"
#include "config/user_config.h"
#include "config/yaml/yaml.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

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

// A list in the user's settings that gets one more item.
struct Place {
  std::string_view map;
  std::string list;
  std::string item;  // as YAML
};

Insertion insertion(const Source& source, const Value& root, const Place& place) {
  const Entry* top = root.find(place.map);
  if (top == nullptr) {
    const bool is_open = !source.text().empty() && source.text().back() != '\n';
    return {
        .offset = source.text().size(),
        .text = fmt::format(
            "{}{}:\n  {}:\n    - {}\n", is_open ? "\n" : "", place.map, place.list, place.item)};
  }
  const std::string entry = fmt::format("{}: [{}]", place.list, place.item);
  const Value& map = top->value;
  if (map.kind != Kind::map) {
    return behind(source, *top, " {" + entry + "}");
  }
  const Entry* found = map.find(place.list);
  if (found == nullptr && map.entries.empty()) {
    return {.offset = map.span.offset + 1, .text = entry};
  }
  if (found == nullptr) {
    return in_front(source, map, map.entries.front().key_span, entry);
  }
  const Value& list = found->value;
  if (list.kind != Kind::list) {
    return behind(source, *found, fmt::format(" [{}]", place.item));
  }
  if (list.items.empty()) {
    return {.offset = list.span.offset + 1, .text = place.item};
  }
  return in_front(source,
                  list,
                  list.items.front().span,
                  is_flow(source, list) ? place.item : "- " + place.item);
}

std::string in_yaml(const std::string& text) {
  return agent::dump(agent::Json(text));
}

// How much the settings say, as far as people add to it.
std::size_t size_of(const UserConfig& config) {
  return config.prices.size() + config.permissions.allow.size() + config.permissions.ask.size() +
         config.permissions.deny.size() + config.key_hosts.size();
}

// The changed text is read again: it says what it said, and one thing more. A text that is no
// settings yet, as `permissions:` alone, only has to become some.
agent::Result<std::string> with_item(const std::string& text,
                                     const Place& place,
                                     const std::function<bool(const UserConfig&)>& has_it) {
  std::string changed = text;
  const auto before = parse_user_config(text, "config.yaml");
  const bool had_it = before && has_it(*before);
  if (auto source = Source::create(text, "config.yaml"); source && !had_it) {
    Problems problems(*source);
    const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems);
    const auto [offset, added] = insertion(*source, root.value_or(Value{}), place);
    changed = std::string(source->text());
    changed.insert(std::min(offset, changed.size()), added);
  }
  const auto after = parse_user_config(changed, "config.yaml");
  const bool is_more = !before || !after || size_of(*after) == size_of(*before) + (had_it ? 0 : 1);
  if (!after || !has_it(*after) || !is_more) {
    return agent::fail(
        agent::Code::config_invalid,
        "the settings, as they are written, cannot be added to",
        fmt::format("add it by hand: {}: {{{}: [{}]}}", place.map, place.list, place.item));
  }
  return changed;
}

}  // namespace

agent::Result<std::string> with_allowed(const std::string& text, const std::string& rule) {
  return with_item(text,
                   {.map = "permissions", .list = "allow", .item = in_yaml(rule)},
                   [&](const UserConfig& config) {
                     const auto& rules = config.permissions.allow;
                     return std::ranges::find(rules, rule, &agent::PermissionRule::text) !=
                            rules.end();
                   });
}

agent::Result<std::string> with_key_host(const std::string& text,
                                         const std::string& variable,
                                         const std::string& url) {
  return with_item(text,
                   {.map = "key_hosts", .list = variable, .item = in_yaml(url)},
                   [&](const UserConfig& config) {
                     return std::ranges::any_of(config.key_hosts, [&](const KeyHost& host) {
                       return host.variable == variable && host.url == url;
                     });
                   });
}

}  // namespace config
