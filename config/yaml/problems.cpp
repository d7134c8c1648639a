#include "config/yaml/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace config {
void Problems::add(Span span, std::string message, std::string help, agent::Code code) {
  errors_.push_back({span, code, std::move(message), std::move(help)});
}

void Problems::warn(Span span, std::string message, std::string help) {
  warnings_.push_back({span, agent::Code::config_invalid, std::move(message), std::move(help)});
}

std::vector<agent::Error> Problems::located(std::vector<Found>& found) const {
  std::ranges::stable_sort(found, {}, [](const Found& one) { return one.span.offset; });
  const auto repeats = std::ranges::unique(found, [](const Found& one, const Found& other) {
    return one.span == other.span && one.message == other.message;
  });
  found.erase(repeats.begin(), repeats.end());
  std::vector<agent::Error> errors;
  for (Found& one : found) {
    if (errors.size() == k_most_shown) {
      errors.push_back(
          {.code = agent::Code::config_invalid,
           .message = fmt::format("{} more mistakes are not shown", found.size() - k_most_shown),
           .where = agent::Where{.file = source_.file(), .excerpt = {}}});
      break;
    }
    errors.push_back({.code = one.code,
                      .message = std::move(one.message),
                      .help = std::move(one.help),
                      .where = source_.where(one.span)});
  }
  found.clear();
  return errors;
}

std::vector<agent::Error> Problems::take_errors() {
  return located(errors_);
}

std::vector<agent::Error> Problems::take_warnings() {
  return located(warnings_);
}

}  // namespace config
