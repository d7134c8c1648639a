#include "tools/permissions/text_pattern.h"

#include "tools/files/find_text.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace tools {

namespace {

// Whether the text is what the pattern, which has no star, stands for.
bool is_like(std::string_view pattern, std::string_view text) {
  return std::ranges::equal(pattern, text, [](char wanted, char found) {
    return !is_unknown(found) && (wanted == k_any_character || wanted == found);
  });
}

// Where the part of a pattern that stands between two stars first stands in the text.
std::size_t find_part(std::string_view text, std::string_view part) {
  if (!part.contains(k_any_character)) {
    return find_text(text, part);
  }
  for (std::size_t at = 0; at + part.size() <= text.size(); ++at) {
    if (is_like(part, text.substr(at, part.size()))) {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

// The parts between the stars one after the other, each as early as can be.
bool matches_items(std::string_view pattern, std::string_view text) {
  const std::size_t first = std::min(pattern.find(k_any_text), pattern.size());
  if (first == pattern.size()) {
    return is_like(pattern, text);
  }
  const std::size_t last = pattern.rfind(k_any_text) + 1;
  const std::string_view end = pattern.substr(last);
  if (text.size() < first + end.size() ||
      !is_like(pattern.substr(0, first), text.substr(0, first)) ||
      !is_like(end, text.substr(text.size() - end.size()))) {
    return false;
  }
  text = text.substr(first, text.size() - first - end.size());
  pattern = pattern.substr(first, last - first);
  while (!pattern.empty()) {
    const std::string_view part = pattern.substr(0, pattern.find(k_any_text));
    const std::size_t at = find_part(text, part);
    if (at == std::string_view::npos) {
      return false;
    }
    text.remove_prefix(at + part.size());
    pattern.remove_prefix(part.size() + 1);
  }
  return true;
}

namespace {

constexpr std::size_t k_longest_text = 65'536;  // beyond it, anything may be

using Words = std::vector<std::string>;

// Both sides have wildcards: reachable[p] says that text[0, t) can be what pattern[0, p) stands
// for.
bool may_match(std::string_view pattern, std::string_view text) {
  if (text.size() > k_longest_text) {
    return true;
  }
  std::vector<char> reachable(pattern.size() + 1, 0);
  const auto close = [&] {  // a star may stand for nothing
    for (std::size_t p = 0; p < pattern.size(); ++p) {
      reachable[p + 1] |= static_cast<char>(pattern[p] == k_any_text && reachable[p] != 0);
    }
  };
  reachable[0] = 1;
  close();
  for (const char c : text) {
    std::vector<char> next(pattern.size() + 1, 0);
    if (is_unknown(c)) {
      next = reachable;  // it is nothing, or as long as it takes
      for (std::size_t p = 0; p < pattern.size(); ++p) {
        const bool may_be = c == k_unknown || pattern[p] != '/';
        next[p + 1] |= static_cast<char>(may_be && next[p] != 0);
      }
    } else {
      for (std::size_t p = 0; p < pattern.size(); ++p) {
        if (reachable[p] != 0 && pattern[p] == k_any_text) {
          next[p] = 1;
        } else if (reachable[p] != 0 && (pattern[p] == k_any_character || pattern[p] == c)) {
          next[p + 1] = 1;
        }
      }
    }
    reachable = std::move(next);
    close();
  }
  return reachable.back() != 0;
}

Match match(std::string_view pattern, std::string_view word) {
  return matches_items(pattern, word) ? Match::yes
         : may_match(pattern, word)   ? Match::maybe
                                      : Match::no;
}

bool is_option_word(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

bool is_bundle(std::string_view word, std::size_t longest) {
  return word.size() > 1 && word.size() <= longest && word[0] == '-' && word[1] != '-';
}

// `-rf` of a pattern is there as -rf, -fr, -rvf, -r … -f; `--force` also as --forc.
Match has_option(std::string_view wanted, const Words& words) {
  Match found = Match::no;
  for (std::size_t at = 1; at < words.size() && words[at] != "--"; ++at) {
    const std::string_view word = words[at];
    found = std::max(found, match(wanted, word));
    const bool is_abbreviation = word.starts_with("--") && word.size() > 3 &&
                                 wanted.starts_with(word.substr(0, word.find('=')));
    found = is_abbreviation ? Match::yes : found;
  }
  if (found == Match::yes || !is_bundle(wanted, 5)) {
    return found;
  }
  const bool all = std::ranges::all_of(wanted.substr(1), [&](char letter) {
    return std::any_of(words.begin() + 1, words.end(), [&](const std::string& word) {
      return is_bundle(word, 8) && word.contains(letter);
    });
  });
  return all ? Match::yes : found;
}

Words pattern_words(std::string_view pattern) {
  Words words;
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find(' '), pattern.size());
    if (end > 0) {
      words.emplace_back(pattern.substr(0, end));
    }
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return words;
}

// The operands of the pattern in their order. Between them may stand options, each with a value.
Match has_operands(const Words& wanted, const Words& words) {
  Match result = Match::yes;
  std::size_t at = 1;
  bool anywhere = false;
  for (const std::string& operand : wanted) {
    if (operand == std::string(1, k_any_text)) {
      anywhere = true;
      continue;
    }
    Match found = Match::no;
    bool behind_option = false;
    for (; at < words.size() && found == Match::no; ++at) {
      found = match(operand, words[at]);
      if (found == Match::no && !is_option_word(words[at]) && !behind_option && !anywhere) {
        return Match::no;
      }
      behind_option = is_option_word(words[at]);
    }
    result = std::min(result, found);
    anywhere = false;
  }
  return result;
}

Match in_other_words(std::string_view pattern, const Words& words) {
  Words parts = pattern_words(pattern);
  if (parts.empty() || words.empty()) {
    return Match::no;
  }
  Match result = match(base_name(parts.front()), base_name(words.front()));
  Words operands;
  for (std::size_t at = 1; at < parts.size() && result != Match::no; ++at) {
    if (is_option_word(parts[at])) {
      result = std::min(result, has_option(parts[at], words));
    } else {
      operands.push_back(parts[at]);
    }
  }
  // A program's name alone forbids it with any arguments.
  return result == Match::no || parts.size() == 1 ? result
                                                  : std::min(result, has_operands(operands, words));
}

// With a blank between the words; not around what may be no word, or several, where `loosely`.
std::string joined(const Words& words, bool loosely) {
  std::string text;
  const auto is_open = [](const std::string& word) { return word == std::string(1, k_unknown); };
  for (std::size_t at = 0; at < words.size(); ++at) {
    const bool is_apart = at > 0 && !(loosely && (is_open(words[at - 1]) || is_open(words[at])));
    text += is_apart ? " " : "";
    text += words[at];
  }
  return text;
}

}  // namespace

TextPattern::TextPattern(std::string_view pattern) {
  std::string items;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\' && at + 1 < pattern.size()) {
      items += pattern[++at];
    } else if (c == '*' || c == '?') {
      items += c == '*' ? k_any_text : k_any_character;
      is_literal_ = false;
    } else {
      items += c;
    }
  }
  items_.push_back(items);
  if (items.size() > 2 && items.ends_with(std::string{' ', k_any_text})) {
    items_.push_back(items.substr(0, items.size() - 2));
  }
}

bool TextPattern::covers(std::string_view text) const {
  return std::ranges::any_of(items_, [&](const auto& items) { return matches_items(items, text); });
}

bool TextPattern::may_cover(std::string_view text) const {
  return std::ranges::any_of(items_, [&](const auto& items) { return may_match(items, text); });
}

Match TextPattern::forbids(const Words& words) const {
  if (words.empty()) {
    return Match::no;
  }
  Words by_name = words;
  by_name.front() = base_name(words.front());
  Match result = in_other_words(items_.front(), words);
  for (const std::string& items : {items_.back(), items_.back() + ' ' + k_any_text}) {
    for (const Words* reading : {&words, static_cast<const Words*>(&by_name)}) {
      const Match found = matches_items(items, joined(*reading, false)) ? Match::yes
                          : may_match(items, joined(*reading, true))    ? Match::maybe
                                                                        : Match::no;
      result = std::max(result, found);
    }
  }
  return result;
}

std::vector<std::string> TextPattern::names() const {
  Words names;
  for (const std::string& part : pattern_words(items_.front())) {
    const bool is_literal = part.find(k_any_text) == std::string::npos &&
                            part.find(k_any_character) == std::string::npos;
    if (names.empty() && !is_literal) {
      return {};
    }
    if (is_literal && !is_option_word(part)) {
      names.emplace_back(names.empty() ? base_name(part) : std::string_view(part));
    }
  }
  return names;
}

std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '\\') {
      pattern += '\\';
    }
    pattern += c;
  }
  return pattern;
}

}  // namespace tools
