#include "tools/builtin/shown_call.h"

#include "agent/text.h"
#include "tools/builtin/registry.h"
#include "tools/files/patch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace tools {
namespace {

constexpr std::size_t k_short_value = 60;  // bytes

// Bare where that is one plain word, as JSON otherwise.
std::string shown_value(const agent::Json& value) {
  std::string text = agent::dump(value);
  if (value.is_string()) {
    const auto& bare = value.get_ref<const std::string&>();
    if (!bare.empty() && bare.find_first_of(" \t\n\"'=") == std::string::npos) {
      text = bare;
    }
  }
  return agent::excerpt(text, k_short_value);
}

std::string shown_pairs(const agent::Json& arguments) {
  std::string text;
  for (const auto& [name, value] : arguments.items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, shown_value(value));
  }
  return text;
}

std::string shown_arguments(std::string_view name, std::string_view text) {
  const auto arguments = agent::parse_json(text);
  if (!arguments || !arguments->is_object()) {
    return std::string(text);
  }
  const auto rows = builtins();
  const auto row = std::ranges::find(rows, name, &Builtin::name);
  std::string shown = row == rows.end() ? std::string() : row->shown(*arguments);
  return shown.empty() ? shown_pairs(*arguments) : shown;
}

// A blank in place of a line's end would make one command of two.
std::string in_one_line(std::string_view text) {
  text = agent::trimmed(text);
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    line += text.substr(0, end);
    text.remove_prefix(end);
    if (!text.empty()) {
      text.remove_prefix(text.starts_with("\r\n") ? 2 : 1);
      line += " ⏎ ";
    }
  }
  return line;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string shown_call(std::string_view name, std::string_view arguments) {
  const std::string shown = in_one_line(shown_arguments(name, arguments));
  return shown.empty() ? std::string(name) : fmt::format("{}  {}", name, shown);
}

std::string shown_commit(const agent::Json& arguments) {
  std::string text(first_line(agent::text_at(arguments, "message")));
  if (const agent::Json* paths = agent::find(arguments, "paths");
      paths != nullptr && paths->is_array()) {
    for (const agent::Json& path : *paths) {
      text += " " + shown_value(path);
    }
  }
  return text;
}

// `limit` counts from `offset`; a page without one ends where the tool ends it.
std::string shown_lines(const agent::Json& arguments) {
  std::string path(agent::text_at(arguments, "path"));
  const long long first = std::max(agent::integer_at(arguments, "offset", 1), 1LL);
  const long long count = agent::integer_at(arguments, "limit");
  if (path.empty() || (first == 1 && count <= 0)) {
    return path;
  }
  constexpr long long k_far = 1'000'000'000'000;
  return count > 0 && first < k_far && count < k_far
             ? fmt::format("{}:{}-{}", path, first, first + count - 1)
             : fmt::format("{}:{}-", path, first);
}

std::string shown_patch(const agent::Json& arguments) {
  const auto files = parse_patch(agent::text_at(arguments, "patch"));
  std::string text;
  if (files) {
    for (const FilePatch& file : *files) {
      text += (text.empty() ? "" : " ") + file.path();
    }
  }
  return text.empty() ? "(a patch that cannot be read)" : text;
}

std::string shown_search(const agent::Json& arguments) {
  std::string text(agent::text_at(arguments, "pattern"));
  if (const auto path = agent::text_at(arguments, "path"); !path.empty()) {
    text += fmt::format(" in {}", path);
  }
  if (const auto glob = agent::text_at(arguments, "glob"); !glob.empty()) {
    text += fmt::format(", only {}", glob);
  }
  return text;
}

std::string shown_switch(const agent::Json& arguments) {
  const agent::Json* create = agent::find(arguments, "create");
  const bool is_new = create != nullptr && create->is_boolean() && create->get<bool>();
  return fmt::format("{}{}", agent::text_at(arguments, "branch"), is_new ? " (new)" : "");
}

std::string shown_result(const agent::Json& arguments) {
  const std::int64_t from = agent::integer_at(arguments, "from");
  return fmt::format("result {}{}",
                     agent::integer_at(arguments, "result"),
                     from > 0 ? fmt::format(", from byte {}", from) : "");
}

std::string shown_todo(const agent::Json& arguments) {
  const agent::Json* items = agent::find(arguments, "items");
  if (items == nullptr || !items->is_array()) {
    return {};
  }
  const auto is_at = [](const agent::Json& item, std::string_view status) {
    return item.is_object() && agent::text_at(item, "status") == status;
  };
  const auto done =
      std::ranges::count_if(*items, [&](const auto& item) { return is_at(item, "completed"); });
  const auto now =
      std::ranges::find_if(*items, [&](const auto& item) { return is_at(item, "in_progress"); });
  return fmt::format(
      "{} of {} done{}",
      done,
      items->size(),
      now == items->end() ? "" : fmt::format(", now: {}", agent::text_at(*now, "content")));
}

}  // namespace tools
