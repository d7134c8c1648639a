#include "tools/hooks/script_files.h"

#include "tools/permissions/shell_script.h"

#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::vector<fs::path> script_files(std::string_view command, const fs::path& directory) {
  std::vector<fs::path> files;
  const auto add = [&](const std::string& word) {
    if (word.empty() || has_unknown(word)) {
      return;
    }
    std::error_code error;
    const fs::path file = fs::weakly_canonical(directory / word, error);
    if (!error && fs::is_regular_file(file, error)) {
      files.push_back(file);
    }
  };
  for (const ShellCommand& one : read_shell(command).commands) {
    for (const std::string& word : one.words) {
      add(word);
    }
    for (const ShellFile& file : one.files) {
      if (!file.writes) {
        add(file.path);
      }
    }
  }
  return files;
}

FileWatch::FileWatch(std::vector<fs::path> files) {
  for (fs::path& file : files) {
    std::string content = content_of(file);
    entries_.push_back({.path = std::move(file), .content = std::move(content)});
  }
}

fs::path FileWatch::changed() const {
  for (const Entry& entry : entries_) {
    if (content_of(entry.path) != entry.content) {
      return entry.path;
    }
  }
  return {};
}

}  // namespace tools
