// The pattern of a rule that allows commands, word by word: `*` as a word stands for any number of
// words, within a word for any part of that word alone, `?` for one character. What a `*` or `?`
// may stand for is what program_options.h says.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

class CommandPattern {
 public:
  // Words are apart by blanks, and quotes around one keep its blanks; `\` takes the next character
  // as it is.
  explicit CommandPattern(std::string_view pattern);

  enum class Fit : std::uint8_t {
    no,
    but_for_options,  // the words fit, but a `*` does not stand for all that it would have to
    yes,
  };
  // `coverable`: which of the words a wildcard may stand for.
  Fit fit(std::span<const std::string> words, const std::vector<bool>& coverable) const;
  // Without wildcards, these very words.
  bool is(std::span<const std::string> words) const;

 private:
  struct Word {
    std::string items;  // with wildcards
    bool is_literal = true;
    bool is_named = false;  // `--output=*`: the option stands there
    bool is_star = false;
  };
  bool fits(std::span<const std::string> words, const std::vector<bool>* coverable) const;

  std::vector<Word> words_;
};

}  // namespace tools
