#include "tools/process/closed_places.h"

#include "agent/text.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_looked_at = 64u << 10;  // the last of the text, where errors stand
constexpr std::size_t k_most_paths = 1'000;
constexpr std::size_t k_most_lines = 3;
constexpr std::string_view k_ends = " \t\r\n'\"`:;,()[]{}<>|=";

// A program says who it is before what is wrong: `/bin/sh: 1: cannot create x`.
bool is_a_speaker(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || text[begin - 1] == '\n') && text.substr(end).starts_with(": ");
}

// What looks like a path: from a `/` or `~/` at the beginning of a word on.
std::vector<std::string_view> paths_in_text(std::string_view text) {
  std::vector<std::string_view> paths;
  text = text.size() > k_looked_at ? text.substr(text.size() - k_looked_at) : text;
  for (std::size_t at = 0; at < text.size() && paths.size() < k_most_paths;) {
    const std::size_t begin = text.find_first_not_of(k_ends, at);
    if (begin == std::string_view::npos) {
      break;
    }
    at = std::min(text.find_first_of(k_ends, begin), text.size());
    const std::string_view word = text.substr(begin, at - begin);
    if ((word.starts_with('/') || word.starts_with("~/")) && !is_a_speaker(text, begin, at)) {
      paths.push_back(word);
    }
  }
  return paths;
}

bool says_not_allowed(std::string_view text) {
  return text.contains("Permission denied") || text.contains("permission denied") ||
         text.contains("Read-only file system") || text.contains("EACCES") ||
         text.contains("EROFS") || text.contains("Operation not permitted");
}

}  // namespace

void append_closed_places(std::string& text,
                          const sandbox::Policy& policy,
                          const agent::Environment& environment) {
  const fs::path home = agent::value_of(environment, "HOME");
  const bool is_refused = says_not_allowed(text);
  std::vector<std::string> lines;
  for (const std::string_view word : paths_in_text(text)) {
    const fs::path named = word.starts_with('~') ? home / word.substr(2) : fs::path(word);
    std::error_code error;
    const fs::path path = fs::weakly_canonical(named, error);
    if (error) {
      continue;
    }
    const bool is_closed = policy.reading(path) == sandbox::Verdict::closed;
    const bool is_outside = is_refused && policy.writing(path) == sandbox::Verdict::outside;
    if (!is_closed && !is_outside) {
      continue;
    }
    std::string line = fmt::format("[the sandbox {} `{}`; `sandbox: {{{}: [{}]}}` opens it]",
                                   is_closed ? "closes" : "has for reading only",
                                   agent::one_line(path.string()),
                                   is_closed ? "read" : "write",
                                   agent::one_line(word));
    if (std::ranges::find(lines, line) == lines.end()) {
      lines.push_back(std::move(line));
    }
    if (lines.size() == k_most_lines) {
      break;
    }
  }
  for (const std::string& line : lines) {
    append_line(text, line);
  }
}

}  // namespace tools
