#include "tools/files/seen_files.h"

#include <utility>

namespace tools {
namespace {

agent::SeenFile seen_file(std::string path, const struct stat& status) {
  constexpr std::int64_t k_ns = 1'000'000'000;
  return {.path = std::move(path),
          .device = static_cast<std::int64_t>(status.st_dev),
          .inode = static_cast<std::int64_t>(status.st_ino),
          .size = status.st_size,
          .modified_ns = status.st_mtim.tv_sec * k_ns + status.st_mtim.tv_nsec};
}

}  // namespace

bool is_unchanged(const struct stat& before, const struct stat& now) {
  return seen_file({}, before) == seen_file({}, now);
}

void SeenFiles::remember(agent::SeenFile file) {
  if (const auto found = by_path_.find(file.path); found != by_path_.end()) {
    const auto entry = found->second;
    by_path_.erase(found);
    entries_.erase(entry);
  }
  entries_.push_front(std::move(file));
  by_path_.emplace(entries_.front().path, entries_.begin());
  if (entries_.size() > capacity_) {
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
}

void SeenFiles::note(const std::filesystem::path& path, const struct stat& status) {
  const std::scoped_lock lock(mutex_);
  news_.push_back(seen_file(path.native(), status));
  remember(news_.back());
}

void SeenFiles::recall(const agent::SeenFile& file) {
  const std::scoped_lock lock(mutex_);
  remember(file);
}

std::vector<agent::SeenFile> SeenFiles::take_news() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(news_, {});
}

SeenFiles::State SeenFiles::state(const std::filesystem::path& path, const struct stat& now) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_path_.find(path.native());
  if (found == by_path_.end()) {
    return State::unseen;
  }
  return *found->second == seen_file(found->second->path, now) ? State::known : State::changed;
}

}  // namespace tools
