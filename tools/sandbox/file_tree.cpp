#include "tools/sandbox/file_tree.h"

#include "agent/descriptor.h"
#include "agent/sha256.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <random>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tools::sandbox {
namespace {

using agent::Descriptor;
namespace fs = std::filesystem;

constexpr mode_t k_mode_bits = 07777;
constexpr int k_counted_names = 100;   // NAME.untrusted, NAME.untrusted.2, …
constexpr int k_most_names = 200;      // then numbers that nobody has taken beforehand
constexpr std::size_t k_shorter = 16;  // bytes less of a name that is too long
constexpr int k_way = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::optional<std::string> content_of(int folder,
                                      const fs::path& path,
                                      const struct stat& status,
                                      Sight& sight) {
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  if (S_ISLNK(status.st_mode)) {
    const ssize_t got =
        ::readlinkat(folder, path.filename().c_str(), content.data(), content.size());
    sight.failed(got < 0 ? errno : 0, path);
    return got == status.st_size ? std::optional(content) : std::nullopt;
  }
  const Descriptor file = sight.open_in(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  std::size_t done = 0;
  while (file && done < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + done, content.size() - done);
    if (got <= 0) {
      sight.failed(got < 0 ? errno : 0, path);
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return file && done == content.size() ? std::optional(content) : std::nullopt;
}

bool set_mode_of(const Descriptor& folder, mode_t mode) {
  return ::chmod(fmt::format("/proc/self/fd/{}", folder.get()).c_str(), mode & k_mode_bits) == 0;
}

// A folder that its owner has shut, or somebody for him.
void open_for_owner(const Descriptor& folder) {
  struct stat status = {};
  if (::fstat(folder.get(), &status) == 0) {
    set_mode_of(folder, status.st_mode | S_IRWXU);
  }
}

std::string ending_of(int number) {
  if (number == 1) {
    return ".untrusted";
  }
  if (number <= k_counted_names) {
    return fmt::format(".untrusted.{}", number);
  }
  std::random_device random;
  return fmt::format(".untrusted.{:08x}{:08x}", random(), random());
}

enum class Way : std::uint8_t { as_it_is, open, make };

// The folder that holds the path, entered step by step. Empty where it cannot be.
Descriptor parent_of(const fs::path& path, Way way) {
  Descriptor folder(::open("/", k_way));
  if (!folder) {
    return {};
  }
  for (const fs::path& part : path.parent_path().relative_path()) {
    Descriptor next(::openat(folder.get(), part.c_str(), k_way));
    if (!next && errno == EACCES && way != Way::as_it_is) {
      open_for_owner(folder);
      next = Descriptor(::openat(folder.get(), part.c_str(), k_way));
    }
    if (!next && errno == ENOENT && way == Way::make) {
      ::mkdirat(folder.get(), part.c_str(), 0755);
      next = Descriptor(::openat(folder.get(), part.c_str(), k_way));
    }
    if (!next) {
      return {};
    }
    folder = std::move(next);
  }
  if (way != Way::as_it_is && ::faccessat(folder.get(), ".", W_OK | X_OK, 0) != 0) {
    open_for_owner(folder);
  }
  return folder;
}

bool write_file(int parent, const char* name, const struct stat& status, std::string_view content) {
  const Descriptor file(
      ::openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || agent::write_all(file.get(), content) != 0) {
    return false;
  }
  // The owner only where the process may; the mode after it, because a new owner clears bits.
  return (::fchown(file.get(), status.st_uid, status.st_gid) == 0 || errno == EPERM) &&
         ::fchmod(file.get(), status.st_mode & k_mode_bits) == 0;
}

bool is_before(const timespec& a, const timespec& b) {
  return std::pair(a.tv_sec, a.tv_nsec) < std::pair(b.tv_sec, b.tv_nsec);
}

// Nobody who changes a file can set the time of its last change back.
bool looks_the_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode &&
         a.st_size == b.st_size && !is_before(a.st_ctim, b.st_ctim) &&
         !is_before(b.st_ctim, a.st_ctim);
}

}  // namespace

FileTree FileTree::read(const fs::path& path,
                        std::size_t& room,
                        Sight& sight,
                        const FileTree* before) {
  FileTree tree;
  tree.path_ = path;
  std::vector<fs::path> left{path};
  while (!left.empty()) {
    const fs::path at = std::move(left.back());
    left.pop_back();
    const Descriptor parent = parent_of(at, Way::as_it_is);
    const std::string name = at.filename();
    Entry entry;
    if (!parent || ::fstatat(parent.get(), name.c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) != 0) {
      sight.failed(errno, at);
      continue;
    }
    if (S_ISDIR(entry.status.st_mode)) {
      const Descriptor folder =
          sight.open_in(parent.get(), at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      entry.is_known = static_cast<bool>(folder);
      for (const Sight::Named& inner :
           folder ? sight.entries_of(folder.get(), at) : std::vector<Sight::Named>()) {
        left.push_back(at / inner.name);
      }
    } else if (S_ISREG(entry.status.st_mode) || S_ISLNK(entry.status.st_mode)) {
      const auto size = static_cast<std::size_t>(entry.status.st_size);
      const auto known = before != nullptr ? before->entries_.find(at) : tree.entries_.end();
      std::optional<std::string> content;
      if (before != nullptr && known != before->entries_.end() && known->second.is_known &&
          looks_the_same(known->second.status, entry.status)) {
        content = known->second.content;
      } else if (size <= room) {
        content = content_of(parent.get(), at, entry.status, sight);
      }
      entry.is_known = content.has_value() && size <= room;
      room -= entry.is_known ? size : 0;
      entry.content = std::move(content).value_or("");
    }
    tree.entries_.emplace(at, std::move(entry));
  }
  return tree;
}

bool FileTree::is_same(const FileTree& other) const {
  return std::ranges::equal(entries_, other.entries_, [](const auto& a, const auto& b) {
    const Entry& mine = a.second;
    const Entry& theirs = b.second;
    return a.first == b.first && mine.status.st_mode == theirs.status.st_mode &&
           mine.is_known == theirs.is_known &&
           (mine.is_known ? mine.content == theirs.content
                          : looks_the_same(mine.status, theirs.status));
  });
}

std::string FileTree::fingerprint() const {
  std::string all;
  for (const auto& [path, entry] : entries_) {
    const struct stat& status = entry.status;
    const std::string outside = entry.is_known ? std::string()
                                               : fmt::format("{} {} {} {} {}",
                                                             status.st_dev,
                                                             status.st_ino,
                                                             status.st_size,
                                                             status.st_ctim.tv_sec,
                                                             status.st_ctim.tv_nsec);
    all +=
        agent::length_prefixed({path, fmt::format("{:o}", status.st_mode), entry.content, outside});
  }
  return agent::sha256_hex(all);
}

bool FileTree::has_other_names() const {
  return std::ranges::any_of(entries_, [](const auto& one) {
    return S_ISREG(one.second.status.st_mode) && one.second.status.st_nlink > 1;
  });
}

void FileTree::add_other_names(std::set<std::pair<dev_t, ino_t>>& to) const {
  for (const auto& [path, entry] : entries_) {
    if (S_ISREG(entry.status.st_mode) && entry.status.st_nlink > 1) {
      to.emplace(entry.status.st_dev, entry.status.st_ino);
    }
  }
}

bool FileTree::looks_untouched() const {
  return std::ranges::all_of(entries_, [](const auto& one) {
    struct stat now = {};
    return ::lstat(one.first.c_str(), &now) == 0 && looks_the_same(now, one.second.status);
  });
}

bool FileTree::put_back() const {
  bool is_back = true;
  std::vector<const Entry*> folders;
  for (const auto& [path, entry] : entries_) {
    const std::string name = fs::path(path).filename();
    const Descriptor parent = parent_of(path, Way::make);
    if (!parent || !entry.is_known) {
      is_back = false;
    } else if (S_ISDIR(entry.status.st_mode)) {
      is_back = ::mkdirat(parent.get(), name.c_str(), 0700) == 0 && is_back;
    } else if (S_ISLNK(entry.status.st_mode)) {
      is_back = ::symlinkat(entry.content.c_str(), parent.get(), name.c_str()) == 0 && is_back;
    } else if (S_ISREG(entry.status.st_mode)) {
      is_back = write_file(parent.get(), name.c_str(), entry.status, entry.content) && is_back;
    }
  }
  // What is in a folder comes before its mode, which may shut it.
  for (auto one = entries_.rbegin(); one != entries_.rend(); ++one) {
    if (S_ISDIR(one->second.status.st_mode)) {
      const Descriptor parent = parent_of(one->first, Way::as_it_is);
      is_back = parent &&
                ::fchmodat(parent.get(),
                           fs::path(one->first).filename().c_str(),
                           one->second.status.st_mode & k_mode_bits,
                           0) == 0 &&
                is_back;
    }
  }
  return is_back;
}

bool FileTree::is_link() const {
  return entries_.size() == 1 && S_ISLNK(entries_.begin()->second.status.st_mode);
}

std::size_t FileTree::size() const {
  std::size_t all = 0;
  for (const auto& [path, entry] : entries_) {
    all += entry.content.size();
  }
  return all;
}

nlohmann::json FileTree::kept() const {
  nlohmann::json entries = nlohmann::json::array();
  for (const auto& [path, entry] : entries_) {
    entries.push_back({path, kept_status(entry.status), entry.content, entry.is_known});
  }
  return {path_.native(), std::move(entries)};
}

FileTree FileTree::from(const nlohmann::json& kept) {
  FileTree tree;
  tree.path_ = kept.at(0).get<std::string>();
  for (const nlohmann::json& entry : kept.at(1)) {
    tree.entries_.emplace(entry.at(0).get<std::string>(),
                          Entry{.status = status_from(entry.at(1)),
                                .content = entry.at(2).get<std::string>(),
                                .is_known = entry.at(3).get<bool>()});
  }
  return tree;
}

nlohmann::json kept_status(const struct stat& status) {
  std::string bytes(sizeof status, '\0');
  std::memcpy(bytes.data(), &status, sizeof status);
  return bytes;
}

struct stat status_from(const nlohmann::json& kept) {
  const std::string& bytes = kept.get_ref<const std::string&>();
  struct stat status = {};
  if (bytes.size() == sizeof status) {
    std::memcpy(&status, bytes.data(), sizeof status);
  }
  return status;
}

fs::path move_aside(const fs::path& path, const fs::path& root) {
  const bool is_inside = path.native().starts_with(root.native() + "/");
  const Descriptor parent = parent_of(path, is_inside ? Way::open : Way::as_it_is);
  const std::string name = path.filename();
  std::size_t length = name.size();
  for (int number = 1; parent && number <= k_most_names;) {
    const std::string aside = name.substr(0, length) + ending_of(number);
    if (::renameat2(parent.get(), name.c_str(), parent.get(), aside.c_str(), RENAME_NOREPLACE) ==
        0) {
      return path.parent_path() / aside;
    }
    if (errno == ENAMETOOLONG && length > 0) {
      length -= std::min(length, k_shorter);
    } else if (errno == EEXIST) {
      ++number;
    } else {
      return {};
    }
  }
  return {};
}

bool move_back(const fs::path& from, const struct stat& what, const fs::path& path) {
  const Descriptor there = parent_of(from, Way::as_it_is);
  const Descriptor parent = parent_of(path, Way::make);
  const std::string name = from.filename();
  struct stat status = {};
  return there && parent &&
         ::fstatat(there.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         status.st_dev == what.st_dev && status.st_ino == what.st_ino &&
         ::renameat2(
             there.get(), name.c_str(), parent.get(), path.filename().c_str(), RENAME_NOREPLACE) ==
             0;
}

bool set_mode(const fs::path& folder, mode_t mode) {
  const Descriptor parent = parent_of(folder, Way::as_it_is);
  const Descriptor opened(parent ? ::openat(parent.get(), folder.filename().c_str(), k_way) : -1);
  return opened && set_mode_of(opened, mode);
}

}  // namespace tools::sandbox
