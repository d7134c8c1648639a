#include "tools/mcp/last_words.h"

#include "agent/text.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

namespace tools::mcp {
namespace {

constexpr std::size_t k_most_lines = 8;
constexpr std::size_t k_most_bytes = 500;
constexpr std::string_view k_between = " | ";

std::string_view without_number(std::string_view text) {
  const std::size_t last = text.find_last_not_of("0123456789");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// `a.js:1:2`, `node:x:28:49`, `A.java:7`, `a.cs:line 7`.
bool ends_with_place(std::string_view text) {
  constexpr auto k_sources = std::to_array<std::string_view>(
      {".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".java", ".kt", ".cs"});
  for (int numbers = 0; numbers < 2; ++numbers) {
    std::string_view before = without_number(text);
    if (before.size() == text.size()) {
      break;
    }
    before = before.ends_with(":line ") ? before.substr(0, before.size() - 5) : before;
    if (!before.ends_with(':')) {
      break;
    }
    text = before.substr(0, before.size() - 1);
    const std::size_t word = text.find_last_of(" (/");
    const bool is_of_node =
        text.substr(word == std::string_view::npos ? 0 : word + 1).starts_with("node:") ||
        text.contains("node:internal/");
    if (is_of_node ||
        std::ranges::any_of(k_sources, [&](std::string_view end) { return text.ends_with(end); })) {
      return true;
    }
  }
  return false;
}

// As stand behind an error: `at f (a.js:1:2)`, `at node:x:28:49 {`, `at Array.map (<anonymous>)`.
bool is_place(std::string_view line) {
  if (!line.starts_with("at ")) {
    return false;
  }
  line = line.substr(0, line.find_last_not_of(" {") + 1);
  if (line.ends_with("(<anonymous>)")) {
    return true;
  }
  return ends_with_place(line.ends_with(')') ? line.substr(0, line.size() - 1) : line);
}

// `File "a.py", line 7, in f`.
bool is_place_in_python(std::string_view line) {
  constexpr std::string_view k_line = "\", line ";
  const std::size_t at = line.starts_with("File \"") ? line.find(k_line) : std::string_view::npos;
  if (at == std::string_view::npos) {
    return false;
  }
  const std::string_view rest = line.substr(at + k_line.size());
  return rest.substr(std::min(rest.find_first_not_of("0123456789"), rest.size()))
      .starts_with(", in ");
}

// Not a mark below an error (`^`, `}`).
bool has_words(std::string_view line) {
  return std::ranges::any_of(line, [](char c) {
    const char lower = agent::to_lower(c);
    return (lower >= 'a' && lower <= 'z') || agent::is_digit(c) ||
           static_cast<unsigned char>(c) > 127;
  });
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

std::vector<std::string_view> lines_that_say_something(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t inside = std::string_view::npos;  // deeper than that stands the code of a place
  for (const std::string_view line : agent::split_lines(text)) {
    const std::string_view words = agent::trimmed(line);
    if (is_place_in_python(words)) {
      inside = indent_of(line);
    } else if (inside != std::string_view::npos && indent_of(line) > inside) {
      continue;
    } else {
      inside = std::string_view::npos;
      if (has_words(words) && !is_place(words) && words != "Traceback (most recent call last):") {
        lines.push_back(words);
      }
    }
  }
  return lines;
}

}  // namespace

std::string last_words_in(std::string_view text) {
  std::string end;
  std::size_t count = 0;
  for (const std::string_view words : lines_that_say_something(text) | std::views::reverse) {
    const std::string line = agent::one_line(words, k_most_bytes);
    if (++count > k_most_lines ||
        (!end.empty() && line.size() + k_between.size() + end.size() > k_most_bytes)) {
      break;
    }
    end = line + (end.empty() ? "" : std::string(k_between)) + end;
  }
  return end;
}

}  // namespace tools::mcp
