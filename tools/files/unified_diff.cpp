#include "tools/files/unified_diff.h"

#include "agent/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <vector>

namespace tools {
namespace {

constexpr std::size_t k_around_changes = 3;  // lines
constexpr std::ptrdiff_t k_most_edits = 500;

using DiffLines = std::vector<std::string_view>;  // with their ends
using LineSpan = std::span<const std::string_view>;

DiffLines lines_with_ends(std::string_view text) {
  DiffLines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

struct DiffLine {
  char mark = ' ';  // ' ' stays, '-' goes, '+' comes
  std::string_view text;
};
using DiffScript = std::vector<DiffLine>;

void append_lines(DiffScript& script, char mark, LineSpan lines) {
  for (const std::string_view line : lines) {
    script.push_back({.mark = mark, .text = line});
  }
}

// Myers, "An O(ND) Difference Algorithm": furthest[k] is how far into the old lines so many edits
// lead on the diagonal k = old - new.
class ShortestScript {
 public:
  ShortestScript(LineSpan from, LineSpan to) : from_(from), to_(to) {}

  DiffScript find() {
    const auto most = std::min<std::ptrdiff_t>(k_most_edits, size(from_) + size(to_));
    std::vector<std::ptrdiff_t> furthest(static_cast<std::size_t>(2 * most + 3), 0);
    const std::ptrdiff_t middle = most + 1;
    for (std::ptrdiff_t edits = 0; edits <= most; ++edits) {
      rounds_.emplace_back(furthest.begin() + (middle - edits - 1),
                           furthest.begin() + (middle + edits + 2));
      for (std::ptrdiff_t k = -edits; k <= edits; k += 2) {
        auto* const here = &furthest[static_cast<std::size_t>(middle + k)];
        std::ptrdiff_t old = comes_down(here, k, edits) ? here[1] : here[-1] + 1;
        while (old < size(from_) && old - k < size(to_) && line(from_, old) == line(to_, old - k)) {
          ++old;
        }
        *here = old;
        if (old >= size(from_) && old - k >= size(to_)) {
          return way_back();
        }
      }
    }
    DiffScript all;
    append_lines(all, '-', from_);
    append_lines(all, '+', to_);
    return all;
  }

 private:
  static std::ptrdiff_t size(LineSpan lines) { return static_cast<std::ptrdiff_t>(lines.size()); }
  static std::string_view line(LineSpan lines, std::ptrdiff_t at) {
    return lines[static_cast<std::size_t>(at)];
  }
  // By a line that comes, not by one that goes.
  static bool comes_down(const std::ptrdiff_t* here, std::ptrdiff_t k, std::ptrdiff_t edits) {
    return k == -edits || (k != edits && here[-1] < here[1]);
  }

  DiffScript way_back() const {
    DiffScript script;
    std::ptrdiff_t old = size(from_);
    std::ptrdiff_t now = size(to_);
    for (std::ptrdiff_t edits = static_cast<std::ptrdiff_t>(rounds_.size()) - 1; edits >= 0;
         --edits) {
      const auto& round = rounds_[static_cast<std::size_t>(edits)];
      const std::ptrdiff_t k = old - now;
      const auto* const here = &round[static_cast<std::size_t>(k + edits + 1)];
      const bool is_down = comes_down(here, k, edits);
      const std::ptrdiff_t old_before = edits == 0 ? 0 : is_down ? here[1] : here[-1];
      const std::ptrdiff_t now_before = edits == 0 ? 0 : old_before - (is_down ? k + 1 : k - 1);
      while (old > old_before && now > now_before) {
        script.push_back({.mark = ' ', .text = line(from_, --old)});
        --now;
      }
      if (edits > 0) {
        script.push_back(is_down ? DiffLine{.mark = '+', .text = line(to_, --now)}
                                 : DiffLine{.mark = '-', .text = line(from_, --old)});
      }
    }
    std::ranges::reverse(script);
    return script;
  }

  LineSpan from_;
  LineSpan to_;
  std::vector<std::vector<std::ptrdiff_t>> rounds_;  // `furthest` before each, around its middle
};

struct DiffHunk {
  std::size_t begin = 0;  // in the script
  std::size_t end = 0;
};

// Changes with so few lines between them that their contexts meet stand in one.
std::vector<DiffHunk> hunks_of(const DiffScript& script) {
  std::vector<DiffHunk> hunks;
  for (std::size_t at = 0; at < script.size(); ++at) {
    if (script[at].mark == ' ') {
      continue;
    }
    const std::size_t end = std::min(script.size(), at + 1 + k_around_changes);
    if (!hunks.empty() && at <= hunks.back().end + k_around_changes) {
      hunks.back().end = end;
    } else {
      hunks.push_back({.begin = at - std::min(at, k_around_changes), .end = end});
    }
  }
  return hunks;
}

std::string hunks_text(const DiffScript& script, std::size_t lines_before) {
  std::string text;
  std::size_t done = 0;
  std::size_t old_line = lines_before;
  std::size_t new_line = lines_before;
  for (const DiffHunk& hunk : hunks_of(script)) {
    old_line += hunk.begin - done;  // what lies between hunks stays
    new_line += hunk.begin - done;
    std::size_t old_count = 0;
    std::size_t new_count = 0;
    std::string body;
    for (const DiffLine& line : std::span(script).subspan(hunk.begin, hunk.end - hunk.begin)) {
      old_count += line.mark != '+' ? 1 : 0;
      new_count += line.mark != '-' ? 1 : 0;
      body += line.mark;
      body += line.text;
      body += line.text.ends_with('\n') ? "" : "\n\\ No newline at end of file\n";
    }
    text += fmt::format("@@ -{},{} +{},{} @@\n{}",
                        old_line + (old_count > 0 ? 1 : 0),
                        old_count,
                        new_line + (new_count > 0 ? 1 : 0),
                        new_count,
                        body);
    old_line += old_count;
    new_line += new_count;
    done = hunk.end;
  }
  return text;
}

}  // namespace

std::string unified_diff(std::string_view old_name,
                         std::string_view old_text,
                         std::string_view new_name,
                         std::string_view new_text) {
  if (old_text == new_text) {
    return {};
  }
  const DiffLines old_lines = lines_with_ends(old_text);
  const DiffLines new_lines = lines_with_ends(new_text);
  LineSpan from = old_lines;
  LineSpan to = new_lines;
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(from, to).in1 - from.begin());
  const std::size_t before = std::min(same, k_around_changes);
  from = from.subspan(same);
  to = to.subspan(same);
  std::size_t after = 0;
  while (after < from.size() && after < to.size() &&
         from[from.size() - 1 - after] == to[to.size() - 1 - after]) {
    ++after;
  }
  DiffScript script;
  append_lines(script, ' ', LineSpan(old_lines).subspan(same - before, before));
  const LineSpan old_middle = from.first(from.size() - after);
  const LineSpan new_middle = to.first(to.size() - after);
  std::ranges::copy(ShortestScript(old_middle, new_middle).find(), std::back_inserter(script));
  append_lines(script, ' ', from.last(after).first(std::min(after, k_around_changes)));
  return fmt::format("--- {}\n+++ {}\n{}",
                     diff_name(old_name),
                     diff_name(new_name),
                     hunks_text(script, same - before));
}

std::string diff_name(std::string_view name) {
  const bool is_plain = std::ranges::none_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; });
  return is_plain ? std::string(name) : agent::dump(agent::Json(name));
}

}  // namespace tools
