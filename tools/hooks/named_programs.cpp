#include "tools/hooks/named_programs.h"

#include "tools/permissions/command_line.h"
#include "tools/permissions/shell_script.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <string>
#include <system_error>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr int k_most_interpreters = 8;  // interpreters that are scripts; the kernel follows five
constexpr std::string_view k_between_words = " \t";

std::vector<std::string> words_between_blanks(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(k_between_words), line.size()));
    if (line.empty()) {
      return words;
    }
    words.emplace_back(line.substr(0, line.find_first_of(k_between_words)));
    line.remove_prefix(words.back().size());
  }
}

// The words behind `#!`; none where the kernel starts the file itself. Where a path would be too
// long for that line, Python's installers write it into the next one, for a shell.
std::vector<std::string> started_by(const fs::path& file) {
  constexpr std::string_view k_python = "'''exec' ";
  std::array<char, 4096> begin{};
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), begin.size());
  std::string_view text(begin.data(), static_cast<std::size_t>(in.gcount()));
  if (!text.starts_with("#!")) {
    return {};
  }
  text.remove_prefix(2);
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::vector<std::string> words = words_between_blanks(text.substr(0, end));
  const std::string_view next = text.substr(std::min(end + 1, text.size()));
  if (next.starts_with(k_python)) {
    std::string_view path = next.substr(k_python.size());
    const bool is_quoted = path.starts_with('"');
    path.remove_prefix(is_quoted ? 1 : 0);
    words.emplace_back(path.substr(0, path.find_first_of(is_quoted ? "\"\n" : " \n")));
  }
  return words;
}

class ProgramFinder {
 public:
  explicit ProgramFinder(const CommandPlace& place) : place_(place) {}

  void look_at(const std::string& word, int depth = 0) {
    if (word.empty() || word.starts_with('-')) {
      return;
    }
    const bool is_path = word.contains('/');
    if (!place_.directory.empty() || word.starts_with('/')) {
      add(place_.directory / word, depth, depth > 0 && is_path);
    }
    for (const fs::path& folder : place_.search_path) {
      if (!is_path) {
        add(folder / word, depth, false);
      }
    }
  }

  std::vector<fs::path> take() { return std::move(files_); }

 private:
  // `may_come`: it counts where it is not there yet.
  void add(const fs::path& file, int depth, bool may_come) {
    std::error_code error;
    if (depth > k_most_interpreters || std::ranges::find(files_, file) != files_.end() ||
        !(may_come || fs::is_symlink(file, error) || fs::is_regular_file(file, error))) {
      return;
    }
    files_.push_back(file);
    for (const std::string& word : started_by(file)) {
      look_at(word, depth + 1);
    }
  }

  const CommandPlace& place_;
  std::vector<fs::path> files_;
};

}  // namespace

std::vector<fs::path> named_programs(std::string_view command, const CommandPlace& place) {
  ProgramFinder finder(place);
  const CommandLine line{std::string(command), {}};
  for (const ShellCommand* one : line.commands()) {
    for (const std::string& word : one->words) {
      finder.look_at(word);
    }
  }
  return finder.take();
}

}  // namespace tools
