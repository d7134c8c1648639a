// The pattern of a permission rule on text: `*` stands for anything, `?` for one character, `\`
// takes the next one as it is. A ` *` at the end also stands for nothing: `git diff *` is `git
// diff`, too.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// How wildcards are kept among the characters of a pattern that was read.
constexpr char k_any_text = '\x01';
constexpr char k_any_character = '\x02';

// Whether such a pattern stands for the text, whatever its unknown parts (shell_script.h) may be.
bool matches_items(std::string_view items, std::string_view text);

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
  // The words of the pattern without options and wildcards, that of the program first and without
  // its path; none where the program is not named.
  std::vector<std::string> names() const;

 private:
  std::vector<std::string> items_;  // the pattern, and without ` *` at its end
  bool is_literal_ = true;
};

// The pattern that stands for this text alone.
std::string literal_pattern(std::string_view text);

}  // namespace tools
