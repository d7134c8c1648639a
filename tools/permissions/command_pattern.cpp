#include "tools/permissions/command_pattern.h"

#include "tools/permissions/text_pattern.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tools {

CommandPattern::CommandPattern(std::string_view pattern) {
  Word word;
  bool is_begun = false;
  char quote = '\0';
  const auto finish = [&] {
    if (is_begun) {
      const std::size_t name = word.items.find_first_of({'=', k_any_text, k_any_character});
      word.is_named = name != std::string::npos && word.items[name] == '=';
      word.is_star = word.items == std::string(1, k_any_text);
      words_.push_back(std::move(word));
    }
    word = {};
    is_begun = false;
  };
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    const bool closes = pattern.find(c, at + 1) != std::string_view::npos;
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      finish();
      continue;
    }
    if (quote == '\0' ? (c == '\'' || c == '"') && closes : c == quote) {
      quote = quote == '\0' ? c : '\0';
    } else if (c == '\\' && at + 1 < pattern.size()) {
      word.items += pattern[++at];
    } else if (c == '*' || c == '?') {
      word.items += c == '*' ? k_any_text : k_any_character;
      word.is_literal = false;
    } else {
      word.items += c;
    }
    is_begun = true;
  }
  finish();
}

CommandPattern::Fit CommandPattern::fit(std::span<const std::string> words,
                                        const std::vector<bool>& coverable) const {
  return fits(words, &coverable) ? Fit::yes : fits(words, nullptr) ? Fit::but_for_options : Fit::no;
}

bool CommandPattern::is(std::span<const std::string> words) const {
  return std::ranges::equal(words_, words, [](const Word& word, const std::string& other) {
    return word.is_literal && word.items == other;
  });
}

// reachable[at] says that the pattern's words so far can stand for words[0, at).
bool CommandPattern::fits(std::span<const std::string> words,
                          const std::vector<bool>* coverable) const {
  const auto is_coverable = [&](std::size_t at) {
    return coverable == nullptr || (*coverable)[at];
  };
  std::vector<bool> reachable(words.size() + 1, false);
  reachable[0] = true;
  for (const Word& word : words_) {
    std::vector<bool> next(words.size() + 1, false);
    next[0] = word.is_star && reachable[0];
    for (std::size_t at = 0; at < words.size(); ++at) {
      next[at + 1] = word.is_star      ? reachable[at + 1] || (next[at] && is_coverable(at))
                     : word.is_literal ? reachable[at] && word.items == words[at]
                                       : reachable[at] && (word.is_named || is_coverable(at)) &&
                                             matches_items(word.items, words[at]);
    }
    reachable = std::move(next);
  }
  return reachable.back();
}

}  // namespace tools
