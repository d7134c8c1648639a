#include "tools/sandbox/mounts.h"

#include "agent/descriptor.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <set>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tools::sandbox {
namespace {

using agent::Descriptor;

// As linux/mount.h has it; the C library's own header excludes that one.
struct MountAttributes {
  std::uint64_t set;
  std::uint64_t clear;
  std::uint64_t propagation;
  std::uint64_t user_namespace;
};
constexpr std::uint64_t k_read_only = 1;
constexpr std::uint64_t k_no_devices = 4;

constexpr unsigned k_clone = 1;            // OPEN_TREE_CLONE
constexpr unsigned k_from_descriptor = 4;  // MOVE_MOUNT_F_EMPTY_PATH
constexpr int k_whole_tree = 0x8000;       // AT_RECURSIVE

bool bind_mount(const std::string& from, const std::string& to) {
  return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

enum class Access : std::uint8_t { read_only, write };

enum class Extent : std::uint8_t { whole_tree, one_mount };

// Of the mount at the path, and of all below it unless only that one is meant.
bool set_access(const std::string& path, Access access, Extent extent = Extent::whole_tree) {
  MountAttributes attributes{.set = access == Access::read_only ? k_read_only : 0,
                             .clear = access == Access::write ? k_read_only : 0,
                             .propagation = 0,
                             .user_namespace = 0};
  return ::syscall(SYS_mount_setattr,
                   AT_FDCWD,
                   path.c_str(),
                   extent == Extent::whole_tree ? k_whole_tree : 0,
                   &attributes,
                   sizeof attributes) == 0;
}

// Something that is carried over a cover: its mount, with all that is mounted in it.
struct Carried {
  std::string path;
  Descriptor tree;
  bool is_folder;
};

// `open` is sorted: what is inside another comes along with that.
std::vector<Carried> take_along(const std::string& home, const std::vector<std::string>& open) {
  std::vector<Carried> all;
  for (const std::string& path : open) {
    const bool comes_along = !all.empty() && path.starts_with(all.back().path + "/");
    struct stat status = {};
    if (path.starts_with(home + "/") && !comes_along && ::lstat(path.c_str(), &status) == 0) {
      Descriptor tree(static_cast<int>(
          ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), k_clone | k_whole_tree | O_CLOEXEC)));
      all.push_back({.path = path, .tree = std::move(tree), .is_folder = S_ISDIR(status.st_mode)});
    }
  }
  return all;
}

// The way to the path, and at its end a place for a mount.
bool make_place(const Carried& carried, const std::string& home) {
  for (std::size_t slash = carried.path.find('/', home.size() + 1); slash != std::string::npos;
       slash = carried.path.find('/', slash + 1)) {
    if (::mkdir(carried.path.substr(0, slash).c_str(), 0755) != 0 && errno != EEXIST) {
      return false;
    }
  }
  if (carried.is_folder) {
    return ::mkdir(carried.path.c_str(), 0755) == 0 || errno == EEXIST;
  }
  return Descriptor(::open(carried.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444)) ||
         errno == EROFS;
}

bool put_down(const Carried& carried) {
  return ::syscall(SYS_move_mount,
                   carried.tree.get(),
                   "",
                   AT_FDCWD,
                   carried.path.c_str(),
                   k_from_descriptor) == 0;
}

// The home becomes an empty folder, with only what is open of it, outer before inner.
bool empty_home(const std::string& home, const std::vector<std::string>& open) {
  const std::vector<Carried> carried = take_along(home, open);
  return ::mount("errand",
                 home.c_str(),
                 "tmpfs",
                 MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "mode=0755,size=1m,nr_inodes=4k") == 0 &&
         std::ranges::all_of(carried,
                             [&](const Carried& one) {
                               return one.tree && make_place(one, home) && put_down(one);
                             }) &&
         set_access(home, Access::read_only, Extent::one_mount);
}

bool empty_homes(const Profile& profile) {
  std::vector<std::string> open = profile.reading.open;
  std::ranges::sort(open);
  open.erase(std::ranges::unique(open).begin(), open.end());
  return std::ranges::all_of(profile.homes, [&](const std::string& home) {
    const bool is_open = std::ranges::binary_search(open, home);  // Landlock closes its secrets
    return is_open || ::access(home.c_str(), F_OK) != 0 || empty_home(home, open);
  });
}

// Landlock knows nothing of modes, owners and times: only where a mount is read-only do these stay.
bool open_writable_alone(const std::vector<std::string>& writable) {
  const auto each = [&](const auto& act) {
    return std::ranges::all_of(writable, [&](const std::string& path) {
      return ::access(path.c_str(), F_OK) != 0 || act(path);
    });
  };
  return each([](const std::string& path) { return bind_mount(path, path); }) &&
         set_access("/", Access::read_only) &&
         each([](const std::string& path) { return set_access(path, Access::write); });
}

// A folder on the way to a locked place becomes a mount of its own: what is one cannot be renamed,
// and nothing else be put in its place.
bool pin_the_way(const std::string& place,
                 const std::vector<std::string>& writable,
                 std::set<std::string>& pinned) {
  for (const std::string& root : writable) {
    if (!place.starts_with(root + "/")) {
      continue;
    }
    for (std::size_t slash = place.find('/', root.size() + 1); slash != std::string::npos;
         slash = place.find('/', slash + 1)) {
      const std::string folder = place.substr(0, slash);
      if (::access(folder.c_str(), F_OK) != 0) {
        break;
      }
      if (pinned.insert(folder).second && !bind_mount(folder, folder)) {
        return false;
      }
    }
  }
  return true;
}

// A link stays a link; what it leads to is another place. Not every kernel has mounts on links: who
// asks whether the locks have held is told so (are_mounts).
void lock_link(const std::string& place) {
  const Descriptor tree(static_cast<int>(::syscall(
      SYS_open_tree, AT_FDCWD, place.c_str(), k_clone | O_CLOEXEC | AT_SYMLINK_NOFOLLOW)));
  if (tree) {
    ::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, place.c_str(), k_from_descriptor);
  }
}

bool lock_all(const Profile& profile) {
  std::set<std::string> pinned;
  for (const std::string& place : profile.held) {
    if (!pin_the_way(place, profile.writable, pinned)) {
      return false;
    }
  }
  for (const std::string& place : profile.locked) {
    struct stat status = {};
    if (::lstat(place.c_str(), &status) != 0) {
      continue;
    }
    if (!pin_the_way(place, profile.writable, pinned)) {
      return false;
    }
    if (S_ISLNK(status.st_mode)) {
      lock_link(place);
    } else if (!bind_mount(place, place) || !set_access(place, Access::read_only)) {
      return false;
    }
  }
  return std::ranges::all_of(profile.writable, [&](const std::string& path) {
    const bool is_inside = std::ranges::any_of(
        profile.locked, [&](const std::string& place) { return path.starts_with(place + "/"); });
    return !is_inside || ::access(path.c_str(), F_OK) != 0 || set_access(path, Access::write);
  });
}

// An empty folder that nothing can be made in, or a file that nobody can open.
bool hide(const std::string& place) {
  struct stat status = {};
  if (::lstat(place.c_str(), &status) != 0 || S_ISLNK(status.st_mode)) {
    return true;  // there is nothing to hide
  }
  if (S_ISDIR(status.st_mode)) {
    return ::mount("errand",
                   place.c_str(),
                   "tmpfs",
                   MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
                   "mode=0555,size=4k,nr_inodes=2") == 0;
  }
  MountAttributes attributes{
      .set = k_read_only | k_no_devices, .clear = 0, .propagation = 0, .user_namespace = 0};
  return bind_mount("/dev/null", place) &&
         ::syscall(SYS_mount_setattr, AT_FDCWD, place.c_str(), 0, &attributes, sizeof attributes) ==
             0;
}

bool hide_all(const Profile& profile) {
  std::set<std::string> pinned;
  return std::ranges::all_of(profile.hidden, [&](const std::string& place) {
    return pin_the_way(place, profile.writable, pinned) && hide(place);
  });
}

bool mount_new(const char* place, const char* type, const char* options) {
  return ::mount("errand", place, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0 ||
         errno == ENOENT;
}

// Terminals and shared memory of the call's own. A kernel or a container without them is none the
// worse: Landlock then opens what was mounted, or nothing.
bool renew_devices() {
  const bool has_memory = mount_new(k_shared_memory, "tmpfs", "mode=1777,size=64m");
  const bool has_terminals = ::mount("errand",
                                     k_terminals,
                                     "devpts",
                                     MS_NOSUID | MS_NOEXEC,
                                     "newinstance,ptmxmode=0666,mode=0620") == 0 ||
                             errno == ENOENT;
  struct stat status = {};
  const bool needs_maker = ::lstat(k_terminal_maker, &status) == 0 && S_ISCHR(status.st_mode);
  return has_memory && has_terminals &&
         (!needs_maker || bind_mount("/dev/pts/ptmx", k_terminal_maker));
}

}  // namespace

bool are_mounts(const std::vector<std::string>& places) {
  return std::ranges::all_of(places, [](const std::string& place) {
    struct statx status = {};
    return ::statx(AT_FDCWD, place.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  });
}

bool make_mounts_private(const Profile& profile) {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         open_writable_alone(profile.writable) && lock_all(profile) && hide_all(profile) &&
         empty_homes(profile) && renew_devices();
}

}  // namespace tools::sandbox
