#include "tools/hooks/script_files.h"

#include "tools/permissions/shell_script.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t k_longest_script = 16u << 20;  // what comes after it is data

std::string content_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  std::string content(error ? 0 : std::min(size, k_longest_script), '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(in.gcount()));
  return content;
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

fs::path named_in(std::string_view command,
                  const fs::path& directory,
                  const std::function<bool(const fs::path&)>& is_meant) {
  fs::path found;
  const auto look = [&](std::string_view word) {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(directory / word, error);
    if (found.empty() && !word.empty() && !error && fs::exists(path, error) && is_meant(path)) {
      found = path;
    }
  };
  for (const ShellCommand& one : read_shell(command).commands) {
    for (const std::string& word : one.words) {
      const std::string_view text = word;
      look(text);
      for (const char sign : {'=', '/'}) {  // --file=X, -IX where X is absolute
        const std::size_t at = text.find(sign);
        look(at == std::string_view::npos ? "" : text.substr(sign == '=' ? at + 1 : at));
      }
    }
    for (const ShellFile& file : one.files) {
      look(file.path);
    }
  }
  return found;
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
