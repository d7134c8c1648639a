#include "tools/files/patched_text.h"

#include "tools/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::Code;
using agent::Result;

constexpr std::size_t k_max_named = 10;  // places in a message
constexpr std::size_t k_shown_line = 200;

// A content as lines, each with its end.
class Lines {
 public:
  explicit Lines(std::string_view content) : content_(content) {
    for (std::size_t at = 0; at < content.size();) {
      starts_.push_back(static_cast<std::uint32_t>(at));
      const std::size_t end = content.find('\n', at);
      at = end == std::string_view::npos ? content.size() : end + 1;
      crlf_ += at >= 2 && content[at - 2] == '\r' && content[at - 1] == '\n' ? 1 : 0;
    }
  }

  std::size_t size() const { return starts_.size(); }
  std::string_view whole(std::size_t at) const {
    const std::size_t end = at + 1 < size() ? starts_[at + 1] : content_.size();
    return content_.substr(starts_[at], end - starts_[at]);
  }
  std::string_view text(std::size_t at) const {
    std::string_view line = whole(at);
    if (!line.ends_with('\n')) {
      return line;
    }
    line.remove_suffix(1);
    return without_cr(line);
  }
  bool ends_well(std::size_t at) const { return whole(at).ends_with('\n'); }
  std::string_view from_to(std::size_t from, std::size_t to) const {
    const auto position = [&](std::size_t at) {
      return at < size() ? starts_[at] : content_.size();
    };
    return content_.substr(position(from), position(to) - position(from));
  }

  // How a new line ends that takes the place `at`.
  std::string_view end_for(std::size_t at, std::string_view new_text) const {
    const bool is_mixed = crlf_ > 0 && crlf_ < size() - (ends_well(size() - 1) ? 0 : 1);
    if (!is_mixed) {
      return crlf_ > 0 ? "\r\n" : "\n";
    }
    const bool before_has = at > 0 && whole(at - 1).ends_with("\r\n");
    return new_text.ends_with('\r') || before_has ? "\r\n" : "\n";
  }
  bool has_crlf() const { return crlf_ > 0; }

 private:
  std::string_view content_;
  std::vector<std::uint32_t> starts_;
  std::size_t crlf_ = 0;
};

// The lines that the hunk is about, and those of them that change.
struct Placed {
  const Hunk* hunk = nullptr;
  std::size_t number = 0;  // from 1, in the patch
  std::size_t first = 0;   // line of the content, from 0
  std::size_t begin = 0;   // the same, without the lines around the change
  std::size_t end = 0;
};

std::vector<PatchLine> old_lines_of(const Hunk& hunk) {
  std::vector<PatchLine> lines;
  std::ranges::copy_if(hunk.lines, std::back_inserter(lines), [](const PatchLine& line) {
    return line.mark != '+';
  });
  return lines;
}

bool matches(const Lines& lines, std::size_t at, const PatchLine& line) {
  return at < lines.size() && lines.text(at) == without_cr(line.text) &&
         (!line.ends_file || (at + 1 == lines.size() && !lines.ends_well(at)));
}

std::size_t matching(const Lines& lines, std::size_t at, std::span<const PatchLine> wanted) {
  std::size_t count = 0;
  while (count < wanted.size() && matches(lines, at + count, wanted[count])) {
    ++count;
  }
  return count;
}

// For each place, how many of its numbers, from there on, are those that the whole begins with
// (Gusfield's Z).
std::vector<std::uint32_t> common_beginnings(std::span<const std::uint32_t> numbers) {
  std::vector<std::uint32_t> lengths(numbers.size(), 0);
  std::size_t begin = 0;  // of the stretch known that reaches furthest
  std::size_t end = 0;
  for (std::size_t at = 1; at < numbers.size(); ++at) {
    std::size_t length = at < end ? std::min<std::size_t>(lengths[at - begin], end - at) : 0;
    while (at + length < numbers.size() && numbers[length] == numbers[at + length]) {
      ++length;
    }
    if (at + length > end) {
      begin = at;
      end = at + length;
    }
    lengths[at] = static_cast<std::uint32_t>(length);
  }
  return lengths;
}

// Lines by a number of their text: equal lines have equal ones.
class NumberedLines {
 public:
  explicit NumberedLines(const Lines& lines) {
    for (std::size_t at = 0; at < lines.size(); ++at) {
      numbers_.push_back(number_of(lines.text(at)));
    }
  }

  // For each line, how many of the wanted texts stand from there on. A line of a file has a number,
  // so that nothing goes on across what lies between the two.
  std::vector<std::uint32_t> matching(std::span<const PatchLine> wanted) {
    std::vector<std::uint32_t> both;
    both.reserve(wanted.size() + 1 + numbers_.size());
    for (const PatchLine& line : wanted) {
      both.push_back(number_of(without_cr(line.text)));
    }
    both.push_back(k_between);
    both.insert(both.end(), numbers_.begin(), numbers_.end());
    std::vector<std::uint32_t> lengths = common_beginnings(both);
    lengths.erase(lengths.begin(),
                  lengths.begin() + static_cast<std::ptrdiff_t>(wanted.size()) + 1);
    return lengths;
  }

 private:
  static constexpr std::uint32_t k_between = UINT32_MAX;

  std::uint32_t number_of(std::string_view text) {
    return known_.try_emplace(text, static_cast<std::uint32_t>(known_.size())).first->second;
  }

  std::unordered_map<std::string_view, std::uint32_t> known_;
  std::vector<std::uint32_t> numbers_;
};

std::string without_space(std::string_view text) {
  std::string squeezed(text);
  std::erase_if(squeezed, [](unsigned char byte) { return std::isspace(byte) != 0; });
  return squeezed;
}

std::string quoted(std::string_view line) {
  return "`" + one_line(line, k_shown_line) + "`";
}

class Search {
 public:
  Search(const Lines& lines, std::string_view shown, const std::stop_token& stop)
      : lines_(lines), shown_(shown), stop_(stop) {}

  // The line, from 0, where the hunk's old lines begin.
  Result<std::size_t> place(const Hunk& hunk, std::size_t number) {
    const std::vector<PatchLine> wanted = old_lines_of(hunk);
    if (wanted.empty()) {
      return lines_.size() == 0 ? Result<std::size_t>(0) : no_context(number);
    }
    const auto said = hunk.line ? std::optional(*hunk.line > 0 ? *hunk.line - 1 : 0) : std::nullopt;
    const auto hint = said ? std::optional(shifted(*said)) : std::nullopt;
    if (hint && matching(lines_, *hint, wanted) == wanted.size()) {
      return *hint;
    }
    TRY(look(wanted, hint.value_or(0)));
    if (places_.empty()) {
      return nowhere(wanted, number, hint);
    }
    if (places_.size() > 1) {
      return ambiguous(number);
    }
    if (said) {
      shift_ = static_cast<std::ptrdiff_t>(places_.front()) - static_cast<std::ptrdiff_t>(*said);
    }
    return places_.front();
  }

 private:
  std::size_t shifted(std::size_t line) const {
    const auto at = static_cast<std::ptrdiff_t>(line) + shift_;
    return at < 0 ? 0 : static_cast<std::size_t>(at);
  }

  // All places, and the one where most of the lines stand (the nearest to the hint of these).
  Result<void> look(std::span<const PatchLine> wanted, std::size_t hint) {
    places_.clear();
    best_ = 0;
    best_count_ = 0;
    const auto far = [&](std::size_t at) { return at > hint ? at - hint : hint - at; };
    if (stop_.stop_requested()) {
      return agent::fail(Code::tool_cancelled, "stopped before anything was changed");
    }
    if (!numbered_) {
      numbered_.emplace(lines_);
    }
    const std::vector<std::uint32_t> counts = numbered_->matching(wanted);
    const auto last = static_cast<std::size_t>(std::ranges::find_if(wanted, &PatchLine::ends_file) -
                                               wanted.begin());
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      std::size_t count = counts[at];
      if (count > last && !matches(lines_, at + last, wanted[last])) {
        count = last;
      }
      if (count == wanted.size()) {
        places_.push_back(at);
      }
      if (count > best_count_ || (count > 0 && count == best_count_ && far(at) < far(best_))) {
        best_ = at;
        best_count_ = count;
      }
    }
    return {};
  }

  std::string named(std::size_t number) const { return fmt::format("{}, hunk {}", shown_, number); }

  std::unexpected<agent::Error> no_context(std::size_t number) const {
    return agent::fail(Code::tool_failed,
                       named(number) + ": nothing in the hunk says where its new lines belong",
                       "Give lines that stay, with a blank in front, before and after the change.");
  }

  std::unexpected<agent::Error> nowhere(std::span<const PatchLine> wanted,
                                        std::size_t number,
                                        std::optional<std::size_t> hint) const {
    const bool is_known = best_count_ > 0 || hint.has_value();
    const std::size_t at = (best_count_ > 0 ? best_ : hint.value_or(0)) + best_count_;
    const PatchLine& line = wanted[best_count_];
    const std::string expected = quoted(without_cr(line.text));
    std::string found;
    if (!is_known) {
      found = fmt::format("no line of the file is {}", expected);
    } else if (at >= lines_.size()) {
      found = fmt::format(
          "line {} should be {}, but the file has only {} lines", at + 1, expected, lines_.size());
    } else if (lines_.text(at) == without_cr(line.text)) {
      found = fmt::format("line {} should be the last, without a line end, and is not", at + 1);
    } else {
      const bool is_near = without_space(lines_.text(at)) == without_space(line.text);
      found = fmt::format("line {} should be {}, but is {}{}",
                          at + 1,
                          expected,
                          quoted(lines_.text(at)),
                          is_near ? " (other white space)" : "");
    }
    return agent::fail(Code::tool_failed,
                       fmt::format("{}: {}", named(number), found),
                       "Read the file there and copy the lines exactly.");
  }

  std::unexpected<agent::Error> ambiguous(std::size_t number) const {
    std::string list;
    for (std::size_t at = 0; at < std::min(places_.size(), k_max_named); ++at) {
      list += fmt::format("{}{}", at == 0 ? "" : ", ", places_[at] + 1);
    }
    return agent::fail(Code::tool_failed,
                       fmt::format("{}: its lines occur {} times in the file, at lines {}{}",
                                   named(number),
                                   places_.size(),
                                   list,
                                   places_.size() > k_max_named ? ", …" : ""),
                       "Give more of the lines around the change, or the right line number.");
  }

  const Lines& lines_;
  std::string_view shown_;
  const std::stop_token& stop_;
  std::optional<NumberedLines> numbered_;  // as soon as a hunk is not where it says
  std::ptrdiff_t shift_ = 0;               // of the hunk before, from where it said
  std::vector<std::size_t> places_;
  std::size_t best_ = 0;
  std::size_t best_count_ = 0;
};

// Without the lines that stay before the first change and after the last one.
Placed placed_at(const Hunk& hunk, std::size_t number, std::size_t first) {
  Placed placed{.hunk = &hunk, .number = number, .first = first, .begin = first, .end = first};
  std::size_t at = first;
  bool has_begun = false;
  for (const PatchLine& line : hunk.lines) {
    if (line.mark != ' ' && !has_begun) {
      placed.begin = at;
      has_begun = true;
    }
    at += line.mark == '+' ? 0 : 1;
    placed.end = line.mark == ' ' ? placed.end : at;
  }
  return placed;
}

class Builder {
 public:
  explicit Builder(const Lines& lines) : lines_(lines) {}

  Result<std::string> build(const std::vector<Placed>& hunks, std::string_view shown) {
    std::size_t from = 0;
    for (const Placed& placed : hunks) {
      append(lines_.from_to(from, placed.begin), placed.begin);
      TRY(change(placed, shown));
      from = placed.end;
    }
    append(lines_.from_to(from, lines_.size()), lines_.size());
    return std::move(text_);
  }

 private:
  // Nothing follows a line without an end.
  void close_line(std::size_t at) {
    if (!text_.empty() && !text_.ends_with('\n')) {
      text_ += lines_.end_for(at, {});
    }
  }

  void append(std::string_view text, std::size_t at) {
    if (!text.empty()) {
      close_line(at);
      text_ += text;
    }
  }

  Result<void> change(const Placed& placed, std::string_view shown) {
    std::size_t at = placed.first;
    bool says_end = false;
    const PatchLine* last = nullptr;
    for (const PatchLine& line : placed.hunk->lines) {
      says_end = says_end || line.ends_file;
      if (line.mark == '+') {
        add(line, at);
        last = &line;
        continue;
      }
      if (line.mark == ' ' && at >= placed.begin && at < placed.end) {
        append(lines_.whole(at), at);
      }
      last = line.mark == ' ' ? nullptr : last;
      ++at;
    }
    const bool is_at_end = at == lines_.size();
    if (last != nullptr && last->ends_file && !is_at_end) {
      return agent::fail(
          Code::tool_failed,
          fmt::format("{}, hunk {}: it says that the file ends there, but line {} follows",
                      shown,
                      placed.number,
                      at + 1),
          "Leave out the `\\ No newline at end of file`, or read the file's end.");
    }
    // Who does not speak of the missing end of the last line means to leave it as it is.
    const bool had_end = lines_.size() == 0 || lines_.ends_well(lines_.size() - 1);
    if (is_at_end && last != nullptr && !had_end && !says_end) {
      text_.pop_back();
      text_.resize(text_.size() - (lines_.has_crlf() && text_.ends_with('\r') ? 1 : 0));
    }
    return {};
  }

  void add(const PatchLine& line, std::size_t at) {
    close_line(at);
    text_ += lines_.has_crlf() ? without_cr(line.text) : line.text;
    text_ += line.ends_file ? std::string_view() : lines_.end_for(at, line.text);
  }

  const Lines& lines_;
  std::string text_;
};

Result<void> check_apart(const std::vector<Placed>& hunks, std::string_view shown) {
  for (std::size_t at = 1; at < hunks.size(); ++at) {
    const Placed& one = hunks[at - 1];
    const Placed& other = hunks[at];
    if (other.begin < one.end || (other.begin == one.begin && other.end == one.end)) {
      return agent::fail(Code::tool_failed,
                         fmt::format("{}: the hunks {} and {} change the same place, line {}",
                                     shown,
                                     std::min(one.number, other.number),
                                     std::max(one.number, other.number),
                                     other.begin + 1),
                         "Put both changes into one hunk.");
    }
  }
  return {};
}

}  // namespace

Result<PatchedText> patched_text(std::string_view content,
                                 std::span<const Hunk> hunks,
                                 std::string_view shown,
                                 const std::stop_token& stop) {
  const Lines lines(content);
  Search search(lines, shown, stop);
  PatchedText patched;
  std::vector<Placed> placed;
  for (const Hunk& hunk : hunks) {
    TRY_ASSIGN(const std::size_t first, search.place(hunk, placed.size() + 1));
    placed.push_back(placed_at(hunk, placed.size() + 1, first));
    patched.lines.push_back(first + 1);
  }
  std::ranges::stable_sort(placed, {}, &Placed::begin);
  TRY(check_apart(placed, shown));
  TRY_ASSIGN(patched.content, Builder(lines).build(placed, shown));
  return patched;
}

}  // namespace tools
