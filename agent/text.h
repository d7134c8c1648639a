// Text as bytes that people and models read: valid UTF-8, bounded, safe to show.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

// What stands where a secret stood.
constexpr std::string_view k_redacted = "[redacted]";

bool is_valid_utf8(std::string_view text);
// Each invalid sequence becomes U+FFFD; NUL and other control bytes stay.
std::string to_valid_utf8(std::string_view bytes);

// Makes UTF-8 valid across chunks: keeps back a sequence that the next chunk may complete.
class Utf8Stream {
 public:
  std::string feed(std::string_view bytes);
  std::string finish();  // what was kept back, made valid

 private:
  std::string pending_;
};

// The first and the last part of `text` with "[… N bytes left out …]" between, at most `limit`
// bytes in all, cut between characters. Returned unchanged where it fits.
std::string head_and_tail(std::string_view text, std::size_t limit);

// `%2f` is `/`; what is no such code stays.
std::string percent_decoded(std::string_view text);

// The longest prefix of at most `limit` bytes that ends between characters.
std::string_view prefix(std::string_view text, std::size_t limit);

// At most `limit` bytes, the last of them a "…" where it was cut: so it is told, and a redactor
// knows the beginning of a secret by it.
std::string excerpt(std::string_view text, std::size_t limit);

// For a terminal: escape sequences and control characters (but \n and \t) made visible.
std::string printable(std::string_view text);

// JSON in which those characters, and others that nobody sees, are escapes, where they are valid:
// it says what it said before.
std::string printable_json(std::string json);

// A stranger's name or message within a line of ours: line ends, tabs and what nobody sees are
// visible as well, and what is over `limit` bytes is cut off, with "…" for it. The same again where
// it was done before.
std::string one_line(std::string_view text, std::size_t limit = 1'000);

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Whether the byte goes on with a character of UTF-8 that an earlier one began.
constexpr bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// How many characters valid UTF-8 has.
std::size_t character_count(std::string_view text);

// ASCII letters alone; all other bytes stay.
constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string to_lower(std::string_view text);
// The same, with `-` as `_`: names that people take for each other.
std::string folded(std::string_view name);

// For a shell, as one word: in quotes where it needs them.
std::string shell_word(std::string_view text);

// Without their ends; also a last one that has none.
std::vector<std::string_view> split_lines(std::string_view text);

// Without the spaces, tabs and line ends around it.
std::string_view trimmed(std::string_view text);

// Its memory goes, too: after `text = {}` and `text.clear()` it is kept for more.
inline void give_up(std::string& text) {
  std::string().swap(text);
}

// Whether valid UTF-8 shows nothing: it is empty, or all of it white space, control characters and
// characters without width.
bool is_blank(std::string_view text);

// The candidate nearest to `word` (edit distance at most 2 and less than half the word's length,
// case and -/_ ignored), if there is one and it is unique.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

}  // namespace agent
