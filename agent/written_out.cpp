#include "agent/written_out.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace agent {
namespace {

struct LetterRange {
  char32_t first;
  char32_t last;
};

bool is_letter_in(char32_t point, std::span<const LetterRange> ranges) {
  return std::ranges::any_of(ranges, [&](const LetterRange& range) {
    return point >= range.first && point <= range.last;
  });
}

// The lists are what is left of the blocks of Unicode 15 without what confusables.txt of UTS 39
// takes for an ASCII character or for nothing at all.
constexpr auto k_latin = std::to_array<LetterRange>({
    {0xC0, 0xC5},  // without what is two letters in one, and without the dotless i and the long s
    {0xC7, 0xD6},
    {0xD8, 0xE5},
    {0xE7, 0xF6},
    {0xF8, 0x130},
    {0x134, 0x137},
    {0x139, 0x13E},
    {0x141, 0x148},
    {0x14A, 0x151},
    {0x154, 0x17E},
});
constexpr auto k_wide_letters = std::to_array<LetterRange>({
    {0x3041, 0x3096},  // hiragana
    {0x30A1, 0x30CD},  // katakana without the one that is a slash
    {0x30CF, 0x30FA},
    {0x4E03, 0x4E27},  // han without the strokes that are a dash, a bar, a slash or a backslash
    {0x4E29, 0x4E35},
    {0x4E37, 0x4E3E},
    {0x4E40, 0x4E84},
    {0x4E86, 0x9FFF},
    {0xAC00, 0xD7A3},  // hangul
});
constexpr auto k_cyrillic = std::to_array<LetterRange>({{0x400, 0x45F}, {0x490, 0x491}});
constexpr auto k_greek = std::to_array<LetterRange>(
    {{0x386, 0x386}, {0x388, 0x38A}, {0x38C, 0x38C}, {0x38E, 0x3A1}, {0x3A3, 0x3CE}});
// The letters of both that look like none of ASCII: a word of one script with one of these in it is
// seen to be of that script.
constexpr std::u32string_view k_unmistakable =
    U"БДЖИЙЛФЦШЩЪЫЭЮЯджийлфцшщъыэюяЂЄЉЊҐђєљњґ"
    U"ΓΔΘΛΞΠΣΦΨΩδθλξπφψ";

struct Character {
  char32_t point = 0;
  std::size_t bytes = 1;
  bool is_valid = true;
};

Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) {
    return {.point = lead};
  }
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (size > text.size() || !is_valid_utf8(text.substr(0, size))) {
    return {.point = lead, .is_valid = false};
  }
  char32_t point = lead & (0x7FU >> size);
  for (std::size_t at = 1; at < size; ++at) {
    point = point << 6 | (static_cast<unsigned char>(text[at]) & 0x3FU);
  }
  return {.point = point, .bytes = size};
}

enum class Script : std::uint8_t { none, latin, cyrillic, greek };

Script script_of(char32_t point) {
  const bool is_ascii_letter = (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z');
  if (is_ascii_letter || is_letter_in(point, k_latin)) {
    return Script::latin;
  }
  if (is_letter_in(point, k_cyrillic)) {
    return Script::cyrillic;
  }
  return is_letter_in(point, k_greek) ? Script::greek : Script::none;
}

// Letters without a break.
struct Word {
  std::size_t end = 0;  // in the text
  bool shows_script = false;
};

Word word_at(std::string_view text, std::size_t begin, Script script) {
  Word word{.end = begin};
  bool is_of_one = true;
  while (word.end < text.size()) {
    const Character character = first_of(text.substr(word.end));
    const Script own = character.is_valid ? script_of(character.point) : Script::none;
    if (own == Script::none) {
      break;
    }
    is_of_one = is_of_one && own == script;
    word.shows_script = word.shows_script || k_unmistakable.contains(character.point);
    word.end += character.bytes;
  }
  word.shows_script = word.shows_script && is_of_one;
  return word;
}

constexpr std::string_view k_last_blank = "\\u{20}";

class Writer {
 public:
  Writer(std::string_view text, std::size_t columns, bool breaks_lines)
      : text_(text), columns_(columns), breaks_lines_(breaks_lines) {}

  WrittenOut write() {
    while (at_ < text_.size()) {
      write_one();
    }
    if (row_.bytes > 0 || ends_in_break_) {
      end_row(false);
    }
    return std::move(out_);
  }

 private:
  void write_one() {
    const Character character = first_of(text_.substr(at_));
    if (character.is_valid && character.point == '\n' && breaks_lines_) {
      ++row_.bytes;
      ++at_;
      end_row(false);
      ends_in_break_ = at_ == text_.size();
    } else if (character.is_valid && character.point == '\t' && breaks_lines_) {
      const std::size_t width = 8 - column_ % 8;
      add("→" + std::string(width - 1, ' '), width, 1);
    } else if (character.point == ' ' && is_last_of_line()) {
      add(k_last_blank, k_last_blank.size(), 1);
    } else if (passes(character)) {
      add(text_.substr(at_, character.bytes),
          is_letter_in(character.point, k_wide_letters) ? 2 : 1,
          character.bytes);
    } else {
      const std::string written = character.is_valid
                                      ? fmt::format("\\u{{{:x}}}", std::uint32_t{character.point})
                                      : fmt::format("\\x{{{:x}}}", std::uint32_t{character.point});
      ++out_.characters;
      add(written, written.size(), character.bytes);
    }
  }

  bool is_last_of_line() const {
    const std::size_t next = at_ + 1;
    return next == text_.size() || (breaks_lines_ && text_[next] == '\n');
  }

  bool passes(const Character& character) {
    if (!character.is_valid) {
      return false;
    }
    const char32_t point = character.point;
    if (point == '\\') {
      const std::string_view next = text_.substr(at_ + 1, 2);
      return next != "u{" && next != "x{";
    }
    const Script script = script_of(point);
    if (script != Script::none && at_ >= word_.end) {
      word_ = word_at(text_, at_, script);
    }
    if (script == Script::cyrillic || script == Script::greek) {
      return word_.shows_script;
    }
    return (point >= ' ' && point < 0x7F) || script == Script::latin ||
           is_letter_in(point, k_wide_letters);
  }

  void add(std::string_view shown, std::size_t width, std::size_t bytes) {
    if (column_ + width > columns_) {
      end_row(true);
    }
    row_.text += shown;
    row_.bytes += bytes;
    column_ += width;
    at_ += bytes;
  }

  void end_row(bool goes_on) {
    out_.rows.push_back(std::exchange(row_, WrittenRow{.text = {}, .goes_on = goes_on}));
    column_ = 0;
  }

  std::string_view text_;
  std::size_t columns_;
  bool breaks_lines_;
  bool ends_in_break_ = false;
  std::size_t at_ = 0;
  Word word_;
  WrittenRow row_;
  std::size_t column_ = 0;
  WrittenOut out_;
};

}  // namespace

WrittenOut written_out(std::string_view text, std::size_t columns) {
  return Writer(text, std::max<std::size_t>(columns, 12), true).write();
}

std::string written_out_line(std::string_view text) {
  WrittenOut out = Writer(text, std::numeric_limits<std::size_t>::max(), false).write();
  return out.rows.empty() ? std::string() : std::move(out.rows.front().text);
}

std::string written_out_line(std::string_view text, std::size_t limit) {
  constexpr std::string_view k_cut = "…";
  const bool is_long = text.size() > limit;
  const bool is_cut = is_long || text.ends_with(k_cut);
  if (is_long) {
    text = prefix(text, limit - std::min(limit, k_cut.size()));
  } else if (is_cut) {
    text.remove_suffix(k_cut.size());
  }
  return written_out_line(text).append(is_cut ? k_cut : "");
}

}  // namespace agent
