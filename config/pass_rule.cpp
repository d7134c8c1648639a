#include "config/pass_rule.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace config {

std::optional<PassRule> PassRule::parse(std::string_view text) {
  if (text == "all" || text == "any") {
    return PassRule(text == "all" ? k_all : k_any);
  }
  const std::string_view digits = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
  const bool is_number = digits.size() < text.size() && !digits.empty() && digits.size() <= 3 &&
                         digits.front() != '0' && std::ranges::all_of(digits, agent::is_digit);
  if (!is_number) {
    return std::nullopt;
  }
  int percent = 0;
  for (const char digit : digits) {
    percent = percent * 10 + (digit - '0');
  }
  return percent <= k_all ? std::optional(PassRule(percent)) : std::nullopt;
}

std::size_t PassRule::needed(std::size_t runs) const {
  const std::size_t share = (runs * static_cast<std::size_t>(percent_) + k_all - 1) / k_all;
  return std::max<std::size_t>(share, 1);
}

std::string PassRule::text() const {
  return percent_ == k_all ? "all" : percent_ == k_any ? "any" : fmt::format("{}%", percent_);
}

}  // namespace config
