// The pattern of a permission rule on text: `*` stands for anything, `?` for one character, `\`
// takes the next one as it is. A ` *` at the end also stands for nothing: `git diff *` is `git
// diff`, too.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

enum class Match : std::uint8_t { no, maybe, yes };

class TextPattern {
 public:
  explicit TextPattern(std::string_view pattern);

  // The text as it stands there: no wildcard in the pattern.
  bool is_literal() const { return is_literal_; }
  const std::string& literal() const { return items_.front(); }

  // Whatever the unknown parts of `text` (shell_script.h) may be.
  bool covers(std::string_view text) const;
  // For some value of its unknown parts.
  bool may_cover(std::string_view text) const;

  // Whether a command is one that the pattern forbids, in its own words or in others: the program
  // by any path, options in any order, bundled (`-fr`), apart (`-r -f`), abbreviated (`--forc`),
  // behind the operands, and options of the program in front of its subcommand.
  Match forbids(const std::vector<std::string>& words) const;

 private:
  std::vector<std::string> items_;  // the pattern, and without ` *` at its end
  bool is_literal_ = true;
};

// The pattern that stands for this text alone.
std::string literal_pattern(std::string_view text);

}  // namespace tools
