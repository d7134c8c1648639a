#include "tools/files/walk.h"

#include "tools/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <linux/magic.h>
#include <optional>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <system_error>
#include <utility>

namespace tools {
namespace {

using agent::Result;
namespace fs = std::filesystem;

constexpr std::size_t k_max_entries = 100'000;    // of one folder
constexpr std::size_t k_max_visited = 1'000'000;  // of one walk

// File systems that hold files, by the number that statfs() gives: a walk goes from one into
// another. What the kernel or a program makes up as it is read (proc, sysfs, cgroup, FUSE) is
// entered only where it is named; what is new in the kernel is, too.
constexpr auto k_of_files = std::to_array<unsigned long>({
    EXT4_SUPER_MAGIC,  // and ext2, ext3
    XFS_SUPER_MAGIC,
    BTRFS_SUPER_MAGIC,
    F2FS_SUPER_MAGIC,
    TMPFS_MAGIC,
    RAMFS_MAGIC,
    OVERLAYFS_SUPER_MAGIC,
    SQUASHFS_MAGIC,
    EROFS_SUPER_MAGIC_V1,
    ISOFS_SUPER_MAGIC,
    UDF_SUPER_MAGIC,
    MSDOS_SUPER_MAGIC,
    EXFAT_SUPER_MAGIC,
    REISERFS_SUPER_MAGIC,
    NILFS_SUPER_MAGIC,
    ECRYPTFS_SUPER_MAGIC,
    NFS_SUPER_MAGIC,
    SMB_SUPER_MAGIC,
    CIFS_SUPER_MAGIC,
    SMB2_SUPER_MAGIC,
    CEPH_SUPER_MAGIC,
    V9FS_MAGIC,
    0x2FC12FC1,  // ZFS
    0xCA451A4E,  // bcachefs
    0x7366746E,  // ntfs3
    0x3153464A,  // JFS
    0x482B,      // HFS+
    0x786F4256,  // VirtualBox's shared folders
});

std::optional<dev_t> device_of(const fs::path& folder) {
  struct stat status = {};
  return ::lstat(folder.c_str(), &status) == 0 ? std::optional(status.st_dev) : std::nullopt;
}

bool holds_files(const fs::path& folder) {
  struct statfs status = {};
  return ::statfs(folder.c_str(), &status) == 0 &&
         std::ranges::find(k_of_files, static_cast<unsigned long>(status.f_type) & 0xFFFFFFFFUL) !=
             k_of_files.end();
}

// Compares as the paths of what is in them would: "a.b" stands before "a/c".
bool comes_before(const FolderEntry& a, const FolderEntry& b) {
  const auto end_of = [](const FolderEntry& entry) { return entry.is_folder() ? '/' : '\0'; };
  const std::size_t size = std::min(a.name.size(), b.name.size());
  if (const int order = a.name.compare(0, size, b.name, 0, size); order != 0) {
    return order < 0;
  }
  const auto next = [&](const FolderEntry& entry) {
    return static_cast<unsigned char>(entry.name.size() > size ? entry.name[size] : end_of(entry));
  };
  return next(a) < next(b);
}

Result<agent::Descriptor> open_listed(const NamedPath& folder) {
  std::error_code ignored;
  auto opened = open_folder(folder);
  if (!opened && fs::exists(folder.path, ignored) && !fs::is_directory(folder.path, ignored)) {
    return agent::fail(agent::Code::tool_failed,
                       fmt::format("`{}` is a file, not a folder", one_line(folder.shown, 400)),
                       "Name a folder.");
  }
  return opened;
}

class Walker {
 public:
  Walker(const WalkOptions& options,
         const std::stop_token& stop,
         const std::function<Walk(const std::string&, const FolderEntry&)>& visit)
      : options_(options), stop_(stop), visit_(visit) {}

  Result<WalkEnd> walk(NamedPath root) {
    TRY_ASSIGN(const Folder folder, read_folder(root, stop_));
    root.inside = folder.real;
    show({.named = root, .device = device_of(folder.real)}, "", folder, 1);
    end_.stopped = stop_.stop_requested();
    return end_;
  }

 private:
  struct Place {
    NamedPath named;
    std::optional<dev_t> device;
  };

  // False: the walk is over.
  bool show(const Place& at, const std::string& prefix, const Folder& folder, std::size_t depth) {
    end_.is_whole = end_.is_whole && folder.is_whole;
    return std::ranges::all_of(folder.entries, [&](const FolderEntry& entry) {
      return show_entry(at, prefix, entry, depth);
    });
  }

  bool show_entry(const Place& at,
                  const std::string& prefix,
                  const FolderEntry& entry,
                  std::size_t depth) {
    if (stop_.stop_requested()) {
      return false;
    }
    if (++visited_ > k_max_visited) {
      end_.is_whole = false;
      return false;
    }
    if (!options_.hidden && entry.name.starts_with('.')) {
      return true;
    }
    return entry.is_folder() ? enter(at, prefix, entry, depth)
                             : visit_(prefix + entry.name, entry) == Walk::go_on;
  }

  bool enter(const Place& at,
             const std::string& prefix,
             const FolderEntry& entry,
             std::size_t depth) {
    if (entry.name == ".git") {
      return true;
    }
    if (depth >= options_.max_depth) {
      ++end_.too_deep;
      return true;
    }
    const NamedPath named{.shown = join_shown(at.named.shown, entry.name),
                          .path = at.named.path / entry.name,
                          .policy = at.named.policy,
                          .judge = at.named.judge,
                          .inside = at.named.inside};
    const Place below{.named = named, .device = device_of(named.path)};
    if (below.device != at.device && !holds_files(named.path)) {
      ++end_.made_up;
      return true;
    }
    const auto folder = read_folder(named, stop_);
    if (!folder) {
      ++end_.unread;
      return true;
    }
    return show(below, prefix + entry.name + '/', *folder, depth + 1);
  }

  const WalkOptions& options_;
  const std::stop_token& stop_;
  const std::function<Walk(const std::string&, const FolderEntry&)>& visit_;
  std::size_t visited_ = 0;
  WalkEnd end_;
};

}  // namespace

Result<Folder> read_folder(const NamedPath& folder, const std::stop_token& stop) {
  TRY_ASSIGN(const agent::Descriptor opened, open_listed(folder));
  const fs::path handle = fmt::format("/proc/self/fd/{}", opened.get());
  std::error_code error;
  Folder read{.entries = {}, .is_whole = true, .real = real_path(opened)};
  for (fs::directory_iterator at(handle, error), end; !error && at != end; at.increment(error)) {
    if (stop.stop_requested() || read.entries.size() == k_max_entries) {
      read.is_whole = false;
      break;
    }
    std::error_code ignored;
    read.entries.push_back(
        {.name = at->path().filename().string(), .type = at->symlink_status(ignored).type()});
  }
  if (error) {
    return file_error("list", folder.shown, error.value());
  }
  std::ranges::sort(read.entries, comes_before);
  return read;
}

std::string WalkEnd::notes() const {
  std::string notes;
  if (unread > 0) {
    notes += fmt::format("[{} folder{} could not be read]\n", unread, unread == 1 ? "" : "s");
  }
  if (too_deep > 0) {
    notes += fmt::format("[{} folder{} too deep to enter]\n", too_deep, too_deep == 1 ? "" : "s");
  }
  if (made_up > 0) {
    notes += fmt::format(
        "[{} folder{} not entered: no files on a disk are there (as in /proc); name one to look in "
        "it]\n",
        made_up,
        made_up == 1 ? "" : "s");
  }
  if (!is_whole) {
    notes += "[there is more than was looked at: name a folder further down]\n";
  }
  return notes;
}

Result<WalkEnd> walk(const NamedPath& folder,
                     const WalkOptions& options,
                     const std::stop_token& stop,
                     const std::function<Walk(const std::string&, const FolderEntry&)>& visit) {
  return Walker(options, stop, visit).walk(folder);
}

std::string join_shown(std::string_view folder, std::string_view name) {
  if (folder.empty() || folder == ".") {
    return std::string(name);
  }
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

}  // namespace tools
