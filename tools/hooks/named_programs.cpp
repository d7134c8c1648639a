#include "tools/hooks/named_programs.h"

#include "agent/text.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/program_options.h"
#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"
#include "tools/sandbox/way.h"

#include <fmt/format.h>

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

// Where it is looked for.
std::vector<fs::path> files_for(const std::string& word, const CommandPlace& place) {
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
    for (const std::string& word : started_by(file)) {
      look_at(word, depth + 1);
    }
  }

  const CommandPlace& place_;
  std::vector<fs::path> files_;
};

// Under this name, or behind a link: an interpreter. Empty: it is none.
std::string interpreter_named(const std::string& word, const CommandPlace& place) {
  std::string name(base_name(word));
  if (is_interpreter(name)) {
    return name;
  }
  for (const fs::path& file : files_for(word, place)) {
    std::error_code error;
    std::string real =
        fs::is_symlink(file, error) ? fs::weakly_canonical(file, error).filename() : fs::path();
    if (is_interpreter(real)) {
      return real;
    }
  }
  return {};
}

// A pipe, a descriptor, a terminal, behind whatever link.
bool is_stream(const std::string& word, const CommandPlace& place) {
  const fs::path path = place.directory / word;
  std::error_code error;
  if (path.is_relative() || word.starts_with('-')) {
    return false;
  }
  const fs::file_type type = fs::status(path, error).type();
  const std::vector<sandbox::WayPoint> way = sandbox::way_to(path);
  const bool is_of_processes = std::ranges::any_of(
      way, [](const auto& point) { return point.path.native().starts_with("/proc/"); });
  return is_of_processes || type == fs::file_type::fifo ||
         (type == fs::file_type::character && way.back().path != "/dev/null");
}

}  // namespace

std::string why_fed(std::string_view command, const CommandPlace& place) {
  const CommandLine line{std::string(command), {}};
  for (const ShellCommand* one : line.commands()) {
    const auto& words = one->words;
    if (words.empty() || coverage_of(words).is_data) {
      continue;
    }
    for (auto word = words.begin(); word != words.end(); ++word) {
      const std::string name = interpreter_named(*word, place);
      if (name.empty()) {
        continue;
      }
      ShellCommand run{.words = {name}};
      run.words.insert(run.words.end(), word + 1, words.end());
      if (const Started started = started_by(run); !started.unclear.empty()) {
        return started.unclear.front();
      }
      const auto stream = std::find_if(
          word + 1, words.end(), [&](const auto& argument) { return is_stream(argument, place); });
      if (stream != words.end()) {
        return fmt::format("{} may run what `{}` brings", name, agent::one_line(*stream, 200));
      }
    }
  }
  return {};
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
