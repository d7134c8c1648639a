#include "tools/sandbox/locked_files.h"

#include "agent/descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>

namespace tools::sandbox {
namespace {

using agent::Code;
using agent::Descriptor;
using agent::Result;
namespace fs = std::filesystem;

constexpr std::size_t k_most_bytes = 16u << 20;  // of all places together
constexpr int k_deepest = 64;
constexpr mode_t k_mode_bits = 07777;

// The names in an open folder; it stays open.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(own < 0 ? nullptr : ::fdopendir(own),
                                                    ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  return names;
}

std::optional<std::string> content_of(int folder, const char* name, const struct stat& status) {
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  if (S_ISLNK(status.st_mode)) {
    const ssize_t got = ::readlinkat(folder, name, content.data(), content.size());
    return got == status.st_size ? std::optional(content) : std::nullopt;
  }
  const Descriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::size_t done = 0;
  while (file && done < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + done, content.size() - done);
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return file && done == content.size() ? std::optional(content) : std::nullopt;
}

Descriptor open_folder(int parent, const char* name) {
  return Descriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void remove_at(int parent, const std::string& name, int depth = 0) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT || depth > k_deepest) {
    return;
  }
  if (const Descriptor folder = open_folder(parent, name.c_str())) {
    for (const std::string& inner : names_in(folder.get())) {
      remove_at(folder.get(), inner, depth + 1);
    }
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

// The folder that holds the path, entered step by step: whatever is no folder there gives way to
// one where `makes`. Empty where it cannot be.
Descriptor parent_of(const fs::path& path, bool makes) {
  Descriptor folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const fs::path& part : path.parent_path().relative_path()) {
    constexpr int k_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Descriptor next(::openat(folder.get(), part.c_str(), k_flags));
    if (!next && makes) {
      ::unlinkat(folder.get(), part.c_str(), 0);
      ::mkdirat(folder.get(), part.c_str(), 0755);
      next = Descriptor(::openat(folder.get(), part.c_str(), k_flags));
    }
    if (!next) {
      return {};
    }
    folder = std::move(next);
  }
  return folder;
}

bool write_file(int parent, const char* name, const struct stat& status, std::string_view content) {
  const Descriptor file(
      ::openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  while (file && !content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    content.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  // The owner only where the process may; the mode after it, because a new owner clears bits.
  return file && (::fchown(file.get(), status.st_uid, status.st_gid) == 0 || errno == EPERM) &&
         ::fchmod(file.get(), status.st_mode & k_mode_bits) == 0;
}

}  // namespace

// False where it is too large, or cannot be read.
bool LockedFiles::read_tree(const fs::path& path, Tree& tree, std::size_t& room) {
  const Descriptor parent = parent_of(path, false);
  const std::string name = path.filename();
  Entry entry;
  if (!parent || ::fstatat(parent.get(), name.c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) != 0) {
    return true;  // there is nothing
  }
  if (S_ISDIR(entry.status.st_mode)) {
    tree.emplace(path, entry);
    const Descriptor folder = open_folder(parent.get(), name.c_str());
    for (const std::string& inner : folder ? names_in(folder.get()) : std::vector<std::string>()) {
      if (!read_tree(path / inner, tree, room)) {
        return false;
      }
    }
    return static_cast<bool>(folder);
  }
  if (S_ISREG(entry.status.st_mode) || S_ISLNK(entry.status.st_mode)) {
    const auto size = static_cast<std::size_t>(entry.status.st_size);
    const auto content =
        size <= room ? content_of(parent.get(), name.c_str(), entry.status) : std::nullopt;
    if (!content) {
      return false;
    }
    room -= size;
    entry.content = *content;
  }
  tree.emplace(path, std::move(entry));
  return true;
}

bool LockedFiles::is_same(const Place& place) {
  Tree now;
  std::size_t room = k_most_bytes;
  return read_tree(place.path, now, room) &&
         std::ranges::equal(now, place.tree, [](const auto& a, const auto& b) {
           return a.first == b.first && a.second.status.st_mode == b.second.status.st_mode &&
                  a.second.content == b.second.content;
         });
}

Result<std::unique_ptr<LockedFiles>> LockedFiles::create(const std::vector<fs::path>& places,
                                                         bool are_mounted) {
  auto files = std::make_unique<LockedFiles>();
  std::size_t room = k_most_bytes;
  for (const fs::path& path : places) {
    Place place{.path = path, .tree = {}};
    if (!read_tree(path, place.tree, room)) {
      return agent::fail(
          Code::sandbox_setup,
          fmt::format("`{}` cannot be watched: it is unreadable or too large", path.string()),
          "this machine has no private mounts, which would keep it as it is");
    }
    if (!are_mounted || place.tree.empty()) {
      files->places_.push_back(std::move(place));
    }
  }
  return files;
}

std::vector<std::string> LockedFiles::restore() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> changed;
  for (Place& place : places_) {
    if (is_same(place)) {
      continue;
    }
    put_back(place);
    changed.push_back(place.path.string() + (is_same(place) ? "" : " (it could not be put back)"));
  }
  return changed;
}

void LockedFiles::put_back(const Place& place) {
  if (const Descriptor parent = parent_of(place.path, !place.tree.empty())) {
    remove_at(parent.get(), place.path.filename());
  }
  for (const auto& [path, entry] : place.tree) {
    const std::string name = fs::path(path).filename();
    const Descriptor parent = parent_of(path, true);
    if (!parent) {
      return;
    }
    if (S_ISDIR(entry.status.st_mode)) {
      ::mkdirat(parent.get(), name.c_str(), entry.status.st_mode & k_mode_bits);
    } else if (S_ISLNK(entry.status.st_mode)) {
      ::symlinkat(entry.content.c_str(), parent.get(), name.c_str());
    } else if (S_ISREG(entry.status.st_mode)) {
      write_file(parent.get(), name.c_str(), entry.status, entry.content);
    }
  }
}

}  // namespace tools::sandbox
