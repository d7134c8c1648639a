#include "tools/hooks/name_matcher.h"

#include "agent/tool_name.h"

#include <re2/re2.h>

namespace tools {
namespace {

bool is_any(std::string_view pattern) {
  return pattern.empty() || pattern == "*";
}

std::unique_ptr<RE2> compiled(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
}

}  // namespace

NameMatcher::NameMatcher(std::string_view pattern)
    : expression_(is_any(pattern) ? nullptr : compiled(pattern)) {}
NameMatcher::NameMatcher(NameMatcher&&) noexcept = default;
NameMatcher::~NameMatcher() = default;

bool NameMatcher::fits(std::string_view name) const {
  const auto is_it = [this](std::string_view one) {
    return RE2::FullMatch(re2::StringPiece(one.data(), one.size()), *expression_);
  };
  return expression_ == nullptr || is_it(name) || is_it(agent::without_digest(name));
}

}  // namespace tools
