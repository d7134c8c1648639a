// File name patterns: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}` and `**`, as one RE2 expression. Knows
// no file system.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace tools {

// Matches paths with `/` between the names. `*`, `?` and `[…]` stay within one name, `**` as a
// whole name stands for any number of folders, `\` takes the next character as it is. A name that
// begins with a dot is matched only by a dot that the pattern spells out.
class Glob {
 public:
  struct Options {
    bool hidden = false;  // every wildcard matches names that begin with a dot, too
    bool ignore_case = false;
  };

  // tool.invalid_parameters where the pattern is empty, unbalanced or too large.
  static agent::Result<Glob> compile(std::string_view pattern, Options options);
  static agent::Result<Glob> compile(std::string_view pattern) { return compile(pattern, {}); }

  bool matches(std::string_view path) const;  // thread-safe
  bool names_hidden() const { return names_hidden_; }
  // How many names a match can have; absent: any number.
  std::optional<std::size_t> max_names() const { return max_names_; }

  Glob(Glob&&) noexcept;
  Glob& operator=(Glob&&) noexcept;
  ~Glob();

 private:
  Glob();
  std::unique_ptr<re2::RE2> expression_;
  bool names_hidden_ = false;
  bool marks_hidden_ = true;
  std::optional<std::size_t> max_names_;
};

// A pattern cut where its first wildcard name begins: `src/lib/*.h` is `src/lib` and `*.h`. The
// folder is empty where there is none, and "/" for `/*`; the rest is never empty.
struct SplitPattern {
  std::string folder;
  std::string rest;
};
SplitPattern split_pattern(std::string_view pattern);

}  // namespace tools
