#include "tools/process/closed_places.h"

#include "agent/text.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace tools {
namespace {

namespace fs = std::filesystem;
using sandbox::Verdict;

constexpr std::size_t k_looked_at = 64u << 10;  // the last of the text, where errors stand
constexpr std::size_t k_most_paths = 1'000;
constexpr std::size_t k_most_lines = 3;
constexpr std::string_view k_ends = " \t\r'\"`:;,()[]{}<>|=";
constexpr std::string_view k_quotes = "'\"`";

// In lower case, as C, Go and Node say it. What is closed by mounts is not there for programs.
constexpr auto k_refusals = std::to_array<std::string_view>({"permission denied", "eacces"});
constexpr auto k_read_only = std::to_array<std::string_view>({"read-only file system", "erofs"});
constexpr auto k_absences =
    std::to_array<std::string_view>({"no such file or directory", "enoent", ": not found"});
constexpr auto k_writings = std::to_array<std::string_view>(
    {"creat", "touch", "writ", "remov", "unlink", "mkdir", "renam", "temporary file"});

constexpr auto k_unreachable = std::to_array<std::string_view>({"could not resolve host",
                                                                "couldn't resolve host",
                                                                "name resolution",
                                                                "name or service not known",
                                                                "getaddrinfo",
                                                                "couldn't connect to server",
                                                                "could not connect to server"});
constexpr auto k_socket_calls = std::to_array<std::string_view>(
    {"socket", "connect", "bind", "listen", "getaddrinfo", "dial tcp"});
constexpr auto k_of_this_machine = std::to_array<std::string_view>({"unix", ".sock"});

bool has_any(std::string_view line, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return line.contains(word); });
}

// What a line of a program's output tells.
struct Line {
  explicit Line(std::string text) : original(std::move(text)), lower(agent::to_lower(original)) {}

  bool says_read_only() const { return has_any(lower, k_read_only); }
  bool says_refused() const { return has_any(lower, k_refusals) || says_read_only(); }
  bool says_absent() const { return has_any(lower, k_absences); }
  bool is_about_writing() const { return says_read_only() || has_any(lower, k_writings); }

  std::string original;
  std::string lower;
};

// GNU's programs quote in the characters of the locale.
std::string with_plain_quotes(std::string_view text) {
  constexpr auto k_curved =
      std::to_array<std::string_view>({"\u2018", "\u2019", "\u201c", "\u201d"});
  std::string plain;
  while (!text.empty()) {
    const auto quote =
        std::ranges::find_if(k_curved, [&](std::string_view one) { return text.starts_with(one); });
    plain += quote == k_curved.end() ? text.front() : '\'';
    text.remove_prefix(quote == k_curved.end() ? 1 : quote->size());
  }
  return plain;
}

// A program says who it is before what is wrong: `/bin/sh: 1: cannot create x`.
bool is_a_speaker(std::string_view line, std::size_t begin, std::size_t end) {
  const std::string_view rest = line.substr(end);
  const std::string said = agent::to_lower(rest.substr(0, 40));
  const auto comes_next = [&](std::string_view word) { return said.starts_with(word); };
  return begin == 0 && rest.starts_with(':') && !comes_next(": permission denied") &&
         !comes_next(": read-only file system") && !comes_next(": no such file");
}

enum class Paths : std::uint8_t { whole, all };

// What looks like a path: from a `/` or `~/` at the beginning of a word on, to the quote that
// closes it or the end of the word; of relative ones, words with a `/` and those that begin with a
// dot.
std::vector<std::string> paths_in(std::string_view line, Paths wanted) {
  std::vector<std::string> paths;
  for (std::size_t at = 0; at < line.size() && paths.size() < k_most_paths;) {
    const std::size_t begin = line.find_first_not_of(k_ends, at);
    if (begin == std::string_view::npos) {
      break;
    }
    const char before = begin > 0 ? line[begin - 1] : ' ';
    at = std::min(line.find_first_of(k_ends, begin), line.size());
    const std::string_view word = line.substr(begin, at - begin);
    const bool is_whole = word.starts_with("~/") || (word[0] == '/' && !word.starts_with("//"));
    const bool is_relative =
        word[0] != '/' && word[0] != '~' && (word[0] == '.' || word.contains('/'));
    if (!(is_whole || (is_relative && wanted == Paths::all)) || is_a_speaker(line, begin, at)) {
      continue;
    }
    if (k_quotes.contains(before)) {
      const std::size_t closing = line.find(before, begin);
      at = closing != std::string_view::npos ? closing : at;
    }
    paths.emplace_back(line.substr(begin, at - begin));
  }
  return paths;
}

fs::path git_folder_in(const fs::path& path) {
  fs::path folder;
  for (const fs::path& part : path) {
    folder /= part;
    if (part == ".git") {
      return folder;
    }
  }
  return {};
}

class Hints {
 public:
  Hints(const sandbox::Policy& policy, const ProgramPlace& place)
      : policy_(policy), folder_(place.folder), home_(agent::value_of(place.own, "HOME")) {}

  bool are_enough() const { return lines_.size() == k_most_lines; }
  const std::vector<std::string>& lines() const { return lines_; }

  // `before` are the two lines before it, in lower case: where Python names the call.
  void look_at(const Line& line, std::string_view before) {
    if (is_network(line, before)) {
      add("[the sandbox closes the network; `sandbox: {network: allow}`, or `allow_hosts`, opens "
          "it]");
      return;
    }
    if (!line.says_refused() && !line.says_absent()) {
      return;
    }
    if (line.says_refused()) {
      look_at_names(line);
    }
    for (const std::string& word : paths_in(line.original, Paths::all)) {
      const fs::path named = word.starts_with('~') ? home_ / word.substr(2) : folder_ / word;
      std::error_code error;
      const fs::path path = fs::weakly_canonical(named, error);
      const bool is_plausible =
          word[0] == '/' || word[0] == '~' || fs::exists(path.parent_path(), error);
      if (!error && is_plausible && !are_enough()) {
        look_at_path(line, path);
      }
    }
  }

 private:
  bool is_network(const Line& line, std::string_view before) const {
    if (policy_.has_network() || has_any(line.lower, k_of_this_machine)) {
      return false;
    }
    const bool is_refused =
        has_any(line.lower, k_refusals) || line.lower.contains("operation not permitted");
    return has_any(line.lower, k_unreachable) ||
           (is_refused && paths_in(line.original, Paths::whole).empty() &&
            (has_any(line.lower, k_socket_calls) || before.contains("socket.")));
  }

  // A bare name may be any word; it is a path where the agent file names such a file.
  void look_at_names(const Line& line) {
    constexpr std::size_t k_most_words = 64;
    const std::string_view text = line.original;
    std::size_t at = 0;
    for (std::size_t words = 0; words < k_most_words && !are_enough(); ++words) {
      const std::size_t begin = text.find_first_not_of(k_ends, at);
      if (begin == std::string_view::npos) {
        return;
      }
      at = std::min(text.find_first_of(k_ends, begin), text.size());
      const fs::path path = folder_ / text.substr(begin, at - begin);
      if (path.parent_path() == folder_ && policy_.is_named_by_agent(path)) {
        look_at_path(line, path);
      }
    }
  }

  void look_at_path(const Line& line, const fs::path& path) {
    const Verdict writing = policy_.writing(path);
    if (writing == Verdict::allowed) {
      return;
    }
    const fs::path there = sandbox::nearest_there(path);
    const bool is_closed = policy_.reading(path) == Verdict::closed;
    if (!is_closed && !line.says_refused()) {
      return;
    }
    const bool is_write = !is_closed || line.is_about_writing();
    if (::access(there.c_str(), is_write ? W_OK : R_OK) != 0) {
      return;  // no key of ours would open that
    }
    if (const fs::path git = git_folder_in(path); !git.empty() && is_write) {
      add(
          fmt::format("[the sandbox has `{}` for reading only: the tools `git_commit` and "
                      "`git_switch` write it, or programs, too, with `{}`]",
                      agent::one_line(git.string()),
                      sandbox::key_opening("write", git)));
    } else if (is_write && (there == "/tmp" || there == "/var/tmp")) {
      add(
          fmt::format("[the sandbox has `{}` for reading only; $TMPDIR names a folder for "
                      "temporary files]",
                      there.string()));
    } else if (is_write && writing == Verdict::locked && policy_.is_named_by_agent(path)) {
      add(
          fmt::format("[the sandbox has `{}` for reading only, for a command of the agent file, or "
                      "the command line, names it; `{}` opens it]",
                      agent::one_line(path.string()),
                      sandbox::key_opening("write", path)));
    } else if (writing != Verdict::locked && policy_.may_be_named(there)) {
      add(fmt::format("[the sandbox {} `{}`; `{}` opens it]",
                      is_closed ? "closes" : "has for reading only",
                      agent::one_line(there.string()),
                      sandbox::key_opening(is_write ? "write" : "read", there)));
    } else if (is_closed && there == path) {
      add(fmt::format("[the sandbox closes `{}`]", agent::one_line(there.string())));
    }
  }

  void add(std::string line) {
    if (std::ranges::find(lines_, line) == lines_.end() && !are_enough()) {
      lines_.push_back(std::move(line));
    }
  }

  const sandbox::Policy& policy_;
  fs::path folder_;
  fs::path home_;
  std::vector<std::string> lines_;
};

}  // namespace

void append_closed_places(std::string& text,
                          const sandbox::Policy& policy,
                          const ProgramPlace& place) {
  Hints hints(policy, place);
  std::string_view rest(text);
  rest = rest.size() > k_looked_at ? rest.substr(rest.size() - k_looked_at) : rest;
  std::array<std::string, 2> before;
  while (!rest.empty() && !hints.are_enough()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Line line(with_plain_quotes(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // The line of source that a traceback shows says nothing of what happened.
    if (!before[1].starts_with("  file ") || !line.lower.starts_with("    ")) {
      hints.look_at(line, before[0] + '\n' + before[1]);
    }
    before[0] = std::move(before[1]);
    before[1] = std::move(line.lower);
  }
  for (const std::string& line : hints.lines()) {
    append_line(text, line);
  }
}

}  // namespace tools
