#include "agent/text.h"

#include "agent/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace agent {
namespace {

constexpr std::string_view k_replacement = "\xEF\xBF\xBD";

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

// How many bytes at the start are ASCII; eight at a time, because nearly all text is.
std::size_t ascii_run(std::string_view text) {
  constexpr std::uint64_t k_high_bits = 0x8080808080808080;
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & k_high_bits) != 0) {
      break;
    }
  }
  while (at < text.size() && byte_at(text, at) < 0x80) {
    ++at;
  }
  return at;
}

struct Sequence {
  enum class Kind : std::uint8_t { valid, invalid, incomplete };
  Kind kind = Kind::valid;
  std::size_t length = 0;
};

struct Lead {
  std::size_t length = 0;  // 0: no lead byte
  std::uint8_t second_low = 0x80;
  std::uint8_t second_high = 0xBF;
};

// Unicode's table 3-7: overlong forms, surrogates and what is above U+10FFFF are never valid.
Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) {
    return {1};
  }
  if (byte >= 0xC2 && byte <= 0xDF) {
    return {2};
  }
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {3,
            static_cast<std::uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<std::uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {4,
            static_cast<std::uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<std::uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {};
}

// The first sequence of a text that is not empty. An invalid one is as long as it could have been
// the start of a character, so that the same bytes are found wherever a stream was cut.
Sequence first_sequence(std::string_view text) {
  const Lead lead = lead_of(byte_at(text, 0));
  if (lead.length == 0) {
    return {Sequence::Kind::invalid, 1};
  }
  for (std::size_t at = 1; at < lead.length; ++at) {
    if (at == text.size()) {
      return {Sequence::Kind::incomplete, at};
    }
    const std::uint8_t low = at == 1 ? lead.second_low : 0x80;
    const std::uint8_t high = at == 1 ? lead.second_high : 0xBF;
    if (byte_at(text, at) < low || byte_at(text, at) > high) {
      return {Sequence::Kind::invalid, at};
    }
  }
  return {Sequence::Kind::valid, lead.length};
}

// Appends `bytes` to `out`, made valid, and returns the incomplete sequence at the end.
std::string_view append_valid(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    if (const std::size_t plain = ascii_run(bytes); plain > 0) {
      out += bytes.substr(0, plain);
      bytes.remove_prefix(plain);
      continue;
    }
    const Sequence sequence = first_sequence(bytes);
    if (sequence.kind == Sequence::Kind::incomplete) {
      return bytes;
    }
    out +=
        sequence.kind == Sequence::Kind::valid ? bytes.substr(0, sequence.length) : k_replacement;
    bytes.remove_prefix(sequence.length);
  }
  return {};
}

std::string_view suffix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  std::size_t start = text.size() - limit;
  for (int step = 0; step < 3 && start < text.size() && is_continuation(text[start]); ++step) {
    ++start;
  }
  return text.substr(start);
}

constexpr std::string_view k_cut = "…";

std::string left_out(std::size_t bytes) {
  return fmt::format("\n[… {} bytes left out …]\n", bytes);
}

// Characters that make a terminal or an editor show another text than the one that is there:
// C1 controls, direction overrides, the byte order mark.
bool is_deceptive(std::uint32_t point) {
  return (point >= 0x80 && point <= 0x9F) || point == 0x061C || point == 0x200E ||
         point == 0x200F || point == 0x2028 || point == 0x2029 ||
         (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0xFEFF;
}

std::uint32_t code_point(std::string_view character) {
  constexpr std::array<std::uint8_t, 5> k_lead_mask = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t point = byte_at(character, 0) & k_lead_mask[character.size()];
  for (std::size_t at = 1; at < character.size(); ++at) {
    point = (point << 6) | (byte_at(character, at) & 0x3Fu);
  }
  return point;
}

void append_printable(std::string& out, std::string_view character) {
  const std::uint32_t point = code_point(character);
  if (point == '\r') {
    out += "\\r";
  } else if ((point < 0x20 && point != '\n' && point != '\t') || point == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", point);
  } else if (is_deceptive(point)) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", point);
  } else {
    out += character;
  }
}

// White space and what Unicode says is not to be drawn, with the blanks that are letters by name
// (Hangul fillers, the empty Braille pattern).
bool is_unseen(std::uint32_t point) {
  struct Range {
    std::uint32_t first;
    std::uint32_t last;
  };
  constexpr auto k_unseen = std::to_array<Range>({
      {0x0000, 0x0020},   {0x007F, 0x00A0},   {0x00AD, 0x00AD}, {0x034F, 0x034F},
      {0x061C, 0x061C},   {0x115F, 0x1160},   {0x1680, 0x1680}, {0x17B4, 0x17B5},
      {0x180B, 0x180F},   {0x2000, 0x200F},   {0x2028, 0x202F}, {0x205F, 0x206F},
      {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164}, {0xFE00, 0xFE0F},
      {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3},
      {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
  });
  return std::ranges::any_of(
      k_unseen, [&](const Range& one) { return point >= one.first && point <= one.last; });
}

// What is not seen and says nothing either: beside white space, what joins and styles the signs
// around it (in Persian, in emoji) is as it came.
bool hides(std::uint32_t point) {
  constexpr auto k_seen_by_others = std::to_array<std::uint32_t>({0x200C, 0x200D, 0xFE0E, 0xFE0F});
  const bool is_blank = point == ' ' || point == 0x00A0 || point == 0x1680 ||
                        (point >= 0x2000 && point <= 0x200A) || point == 0x202F ||
                        point == 0x205F || point == 0x3000;
  return is_unseen(point) && !is_blank &&
         std::ranges::find(k_seen_by_others, point) == k_seen_by_others.end();
}

bool is_hidden(std::uint32_t point) {
  return is_deceptive(point) || hides(point);
}

void append_json_escape(std::string& out, std::uint32_t point) {
  if (point < 0x10000) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", point);
  } else {  // two units of UTF-16
    const std::uint32_t rest = point - 0x10000;
    fmt::format_to(std::back_inserter(out),
                   "\\u{:04x}\\u{:04x}",
                   0xD800 + (rest >> 10),
                   0xDC00 + (rest & 0x3FF));
  }
}

void append_in_line(std::string& out, std::string_view character) {
  const std::uint32_t point = code_point(character);
  if (point == '\n' || point == '\t') {
    out += point == '\n' ? "\\n" : "\\t";
  } else if (hides(point)) {
    fmt::format_to(std::back_inserter(out), "\\u{{{:04x}}}", point);
  } else {
    out += character;
  }
}

constexpr std::size_t k_far = 99;
constexpr std::size_t k_longest_compared = 128;  // a longer word is no typo of a name
constexpr std::size_t k_shortest_beginning = 3;

// Damerau-Levenshtein with adjacent swaps (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t column = 0; column <= b.size(); ++column) {
    last[column] = column;
  }
  for (std::size_t row = 1; row <= a.size(); ++row) {
    std::vector<std::size_t> current(b.size() + 1, row);
    for (std::size_t column = 1; column <= b.size(); ++column) {
      const std::size_t change = a[row - 1] == b[column - 1] ? 0 : 1;
      current[column] =
          std::min({last[column] + 1, current[column - 1] + 1, last[column - 1] + change});
      if (row > 1 && column > 1 && a[row - 1] == b[column - 2] && a[row - 2] == b[column - 1]) {
        current[column] = std::min(current[column], before_last[column - 2] + 1);
      }
    }
    before_last = std::move(last);
    last = std::move(current);
  }
  return last.back();
}

// Both folded.
std::size_t distance(std::string_view word, std::string_view candidate) {
  if (word == candidate) {
    return 0;
  }
  if (word.size() > k_longest_compared || candidate.size() > k_longest_compared) {
    return k_far;
  }
  const bool begins = std::min(word.size(), candidate.size()) >= k_shortest_beginning &&
                      (word.starts_with(candidate) || candidate.starts_with(word));
  const std::size_t longer = std::max(word.size(), candidate.size());
  const std::size_t shorter = std::min(word.size(), candidate.size());
  const std::size_t edits = longer - shorter > 2 ? k_far : edit_distance(word, candidate);
  return begins ? std::min<std::size_t>(edits, 2) : edits;
}

template <typename Text>
std::optional<std::string> nearest_of(std::string_view word, std::span<const Text> candidates) {
  const std::string wanted = folded(word);
  std::string_view best;
  std::size_t best_distance = k_far;
  bool is_unique = false;
  for (const std::string_view candidate : candidates) {
    if (candidate == word) {
      return std::string(candidate);
    }
    const std::size_t found = distance(wanted, folded(candidate));
    if (found < best_distance) {
      best = candidate;
      best_distance = found;
      is_unique = true;
    } else if (found == best_distance && candidate != best) {
      is_unique = false;
    }
  }
  const bool is_near =
      best_distance == 0 || (best_distance <= 2 && 2 * best_distance < word.size());
  return is_near && is_unique ? std::optional<std::string>(best) : std::nullopt;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    if (const std::size_t plain = ascii_run(rest); plain > 0) {
      rest.remove_prefix(plain);
      continue;
    }
    const Sequence sequence = first_sequence(rest);
    if (sequence.kind != Sequence::Kind::valid) {
      break;
    }
    rest.remove_prefix(sequence.length);
  }
  return text.size() - rest.size();
}

bool is_valid_utf8(std::string_view text) {
  return valid_utf8_prefix(text) == text.size();
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  if (!append_valid(out, bytes).empty()) {
    out += k_replacement;
  }
  return out;
}

std::string Utf8Stream::feed(std::string_view bytes) {
  std::string out;
  if (pending_.empty()) {
    pending_ = append_valid(out, bytes);
    return out;
  }
  std::string joined = std::move(pending_);
  joined += bytes;
  pending_ = append_valid(out, joined);
  return out;
}

std::string Utf8Stream::finish() {
  const bool is_cut = !pending_.empty();
  pending_.clear();
  return is_cut ? std::string(k_replacement) : std::string();
}

std::string head_and_tail(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return std::string(text);
  }
  const std::size_t marker = left_out(text.size()).size();
  if (limit <= marker) {
    return std::string(prefix(text, limit));
  }
  const std::size_t room = limit - marker;
  const std::string_view head = prefix(text, room - room / 2);
  const std::string_view tail = suffix(text.substr(head.size()), room / 2);
  return std::string(head) + left_out(text.size() - head.size() - tail.size()) + std::string(tail);
}

std::string percent_decoded(std::string_view text) {
  const auto digit = [](char one) {
    const char lower = to_lower(one);
    return is_digit(one) ? one - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_code = text[at] == '%' && at + 2 < text.size() && digit(text[at + 1]) >= 0 &&
                         digit(text[at + 2]) >= 0;
    plain += is_code ? static_cast<char>(digit(text[at + 1]) * 16 + digit(text[at + 2])) : text[at];
    at += is_code ? 2 : 0;
  }
  return plain;
}

std::string_view prefix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  std::size_t end = limit;
  for (int step = 0; step < 3 && end > 0 && is_continuation(text[end]); ++step) {
    --end;
  }
  // Four continuation bytes in a row are no UTF-8: there is no character to keep whole.
  return text.substr(0, is_continuation(text[end]) ? limit : end);
}

std::string excerpt(std::string_view text, std::size_t limit) {
  return text.size() <= limit
             ? std::string(text)
             : std::string(prefix(text, limit - std::min(limit, k_cut.size()))).append(k_cut);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Sequence sequence = first_sequence(text);
    if (sequence.kind == Sequence::Kind::valid) {
      append_printable(out, text.substr(0, sequence.length));
    } else {
      for (const char c : text.substr(0, sequence.length)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(c));
      }
    }
    text.remove_prefix(sequence.length);
  }
  return out;
}

std::string printable_json(std::string json) {
  const std::string_view text = json;
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = ascii_run(text); at < text.size(); at += ascii_run(text.substr(at))) {
    const Sequence sequence = first_sequence(text.substr(at));
    const std::string_view character = text.substr(at, sequence.length);
    if (sequence.kind == Sequence::Kind::valid && is_hidden(code_point(character))) {
      out += text.substr(done, at - done);
      append_json_escape(out, code_point(character));
      done = at + sequence.length;
    }
    at += sequence.length;
  }
  if (done == 0) {
    return json;
  }
  out += text.substr(done);
  return out;
}

std::string one_line(std::string_view text, std::size_t limit) {
  std::string shown;
  const std::string whole = printable(prefix(text, limit));
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view one = rest.substr(0, first_sequence(rest).length);
    append_in_line(shown, one);
    rest.remove_prefix(one.size());
  }
  if (text.size() <= limit && shown.size() <= limit) {
    return shown;
  }
  return std::string(prefix(shown, limit - std::min(limit, k_cut.size()))) += k_cut;
}

bool is_blank(std::string_view text) {
  while (!text.empty()) {
    const Sequence sequence = first_sequence(text);
    if (sequence.kind != Sequence::Kind::valid ||
        !is_unseen(code_point(text.substr(0, sequence.length)))) {
      return false;
    }
    text.remove_prefix(sequence.length);
  }
  return true;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  return nearest_of(word, candidates);
}

std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates) {
  return nearest_of(word, candidates);
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return to_lower(c); });
  return lower;
}

std::string folded(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    c = c == '-' ? '_' : to_lower(c);
  }
  return out;
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
           std::string_view("_-./+,:@%").contains(c);
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1);
  }
  return quoted + "'";
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view k_space = " \t\r\n";
  const auto first = text.find_first_not_of(k_space);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(k_space) - first + 1);
}

}  // namespace agent
