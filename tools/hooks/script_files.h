// The files that a command line of the user's own runs or reads: what an agent's tools must not
// change, because errand obeys it.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// The regular files that words of the command line name, from `directory` on; absolute. Words that
// only a running shell knows are not among them.
std::vector<std::filesystem::path> script_files(std::string_view command,
                                                const std::filesystem::path& directory);

// The first file or folder that exists and that a word of the command line names, whole or after a
// `=`, from `directory` on, and `is_meant` accepts; empty: none.
std::filesystem::path named_in(std::string_view command,
                               const std::filesystem::path& directory,
                               const std::function<bool(const std::filesystem::path&)>& is_meant);

// Files as they were when this was made.
class FileWatch {
 public:
  explicit FileWatch(std::vector<std::filesystem::path> files);

  // The first one that is no longer what it was; empty: all are.
  std::filesystem::path changed() const;

 private:
  struct Entry {
    std::filesystem::path path;
    std::string content;
  };
  std::vector<Entry> entries_;
};

}  // namespace tools
