#include "tools/files/seen_files.h"

namespace tools {

bool is_unchanged(const struct stat& before, const struct stat& now) {
  return before.st_ino == now.st_ino && before.st_dev == now.st_dev &&
         before.st_size == now.st_size && before.st_mtim.tv_sec == now.st_mtim.tv_sec &&
         before.st_mtim.tv_nsec == now.st_mtim.tv_nsec;
}

void SeenFiles::note(const std::filesystem::path& path, const struct stat& status) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_path_.find(path.native()); found != by_path_.end()) {
    found->second->status = status;
    entries_.splice(entries_.begin(), entries_, found->second);
    return;
  }
  entries_.push_front({.path = path.native(), .status = status});
  by_path_.emplace(entries_.front().path, entries_.begin());
  if (entries_.size() > capacity_) {
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
}

SeenFiles::State SeenFiles::state(const std::filesystem::path& path, const struct stat& now) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_path_.find(path.native());
  if (found == by_path_.end()) {
    return State::unseen;
  }
  return is_unchanged(found->second->status, now) ? State::known : State::changed;
}

}  // namespace tools
