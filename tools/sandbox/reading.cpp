#include "tools/sandbox/reading.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tools::sandbox {
namespace {

bool is_inside(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) &&
         (folder.ends_with('/') || path[folder.size()] == '/');
}

// How much of the path the rule names; 0: it does not cover it.
std::size_t depth(std::string_view rule, std::string_view path) {
  if (rule.ends_with('*')) {
    rule.remove_suffix(1);
    return path.starts_with(rule) ? std::min(path.find('/', rule.size()), path.size()) : 0;
  }
  return path == rule || is_inside(path, rule) ? rule.size() : 0;
}

std::size_t deepest(const std::vector<std::string>& rules, std::string_view path) {
  std::size_t most = 0;
  for (const std::string& rule : rules) {
    most = std::max(most, depth(rule, path));
  }
  return most;
}

}  // namespace

bool may_read(const ReadingRules& rules, std::string_view path) {
  return deepest(rules.open, path) >= deepest(rules.closed, path);
}

ReadingRules rules_around(const ReadingRules& rules, std::string_view folder) {
  const auto copy = [&](const std::vector<std::string>& from, std::vector<std::string>& to) {
    std::ranges::copy_if(from, std::back_inserter(to), [&](const std::string& rule) {
      return is_inside(rule, folder) || depth(rule, folder) > 0;
    });
  };
  ReadingRules around;
  copy(rules.closed, around.closed);
  copy(rules.open, around.open);
  return around;
}

bool has_closed_inside(const ReadingRules& rules, std::string_view folder) {
  return std::ranges::any_of(rules.closed,
                             [&](const std::string& rule) { return is_inside(rule, folder); });
}

}  // namespace tools::sandbox
