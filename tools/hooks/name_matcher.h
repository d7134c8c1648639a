// Which tools something is about: a regular expression over the whole name, or over what stands
// before its digest (agent::without_digest).
#pragma once
#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace tools {

class NameMatcher {
 public:
  // Of a pattern that is one; an empty one, as `*`, matches every name.
  explicit NameMatcher(std::string_view pattern);
  NameMatcher(NameMatcher&&) noexcept;
  ~NameMatcher();

  bool fits(std::string_view name) const;

 private:
  std::unique_ptr<re2::RE2> expression_;  // null: every name
};

}  // namespace tools
