#include "tools/hooks/named_programs.h"

#include "tools/hooks/interpreter_line.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/shell_script.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr int k_most_interpreters = 8;  // interpreters that are scripts; the kernel follows five

class ProgramFinder {
 public:
  explicit ProgramFinder(const CommandPlace& place) : place_(place) {}

  void look_at(const std::string& word, int depth = 0) {
    const bool may_come = depth > 0 && word.contains('/');
    for (const fs::path& file : files_for(word, place_)) {
      add(file, depth, may_come);
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
    const InterpreterLine line = interpreter_line(file);
    for (const std::string& word : line.words) {
      look_at(word, depth + 1);
    }
  }

  const CommandPlace& place_;
  std::vector<fs::path> files_;
};

}  // namespace

std::vector<fs::path> files_for(std::string_view word, const CommandPlace& place) {
  std::vector<fs::path> files;
  if (word.empty() || word.starts_with('-')) {
    return files;
  }
  if (!place.directory.empty() || word.starts_with('/')) {
    files.push_back(place.directory / word);
  }
  for (const fs::path& folder : place.search_path) {
    if (!word.contains('/')) {
      files.push_back(folder / word);
    }
  }
  return files;
}

std::vector<LineMade> lines_made(std::string_view command, const CommandPlace& place) {
  std::vector<LineMade> lines;
  for (const fs::path& file : named_programs(command, place)) {
    InterpreterLine line = interpreter_line(file);
    if (!line.runs.empty()) {
      line.runs.push_back(file.parent_path() / "a-script");  // whose own name says nothing
      lines.push_back({.script = file, .line = line_of(line.runs)});
    }
  }
  return lines;
}

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
