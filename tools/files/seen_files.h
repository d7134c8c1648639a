// The files whose content the model knows: read or written in this run, and the same since. What it
// does not know it must not change.
#pragma once
#include "agent/toolbox.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <string_view>
#include <sys/stat.h>
#include <unordered_map>
#include <vector>

namespace tools {

// Whether it is the same file with the same content, as far as its status tells.
bool is_unchanged(const struct stat& before, const struct stat& now);

// Thread-safe. Paths are true ones: absolute, every link followed. Only the last `capacity` files
// are remembered; one that is forgotten counts as never seen.
class SeenFiles {
 public:
  static constexpr std::size_t k_capacity = 4'096;
  enum class State : std::uint8_t { unseen, changed, known };

  explicit SeenFiles(std::size_t capacity = k_capacity) : capacity_(capacity) {}

  // The model has read or written it when it was as `status` says.
  void note(const std::filesystem::path& path, const struct stat& status);
  State state(const std::filesystem::path& path, const struct stat& now) const;

  // What an earlier process of the run has noted.
  void recall(const agent::SeenFile& file);
  // What was noted since this was asked last.
  std::vector<agent::SeenFile> take_news();

 private:
  using Entries = std::list<agent::SeenFile>;

  void remember(agent::SeenFile file);

  mutable std::mutex mutex_;
  std::size_t capacity_;
  Entries entries_;                                                  // the latest first
  std::unordered_map<std::string_view, Entries::iterator> by_path_;  // views of the entries' paths
  std::vector<agent::SeenFile> news_;
};

}  // namespace tools
