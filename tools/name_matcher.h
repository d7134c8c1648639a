// Which tools something is about: a regular expression over the whole name.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace tools {

// Why `pattern` is no regular expression (RE2), in one line; nullopt: it is one. `*` is one, too.
std::optional<std::string> pattern_error(std::string_view pattern);

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
