#include "tools/sandbox/mounts.h"

#include "agent/descriptor.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <set>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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
constexpr int k_recursive = 0x8000;

// Out of everybody's way while the covers are made; it is laid over and laid bare again.
constexpr const char* k_workbench = "/proc";
constexpr const char* k_empty_folder = "/proc/folder";
constexpr const char* k_empty_file = "/proc/file";

bool bind_mount(const std::string& from, const std::string& to) {
  return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

enum class Access : std::uint8_t { read_only, write };

// Of the mount at the path and all below it.
bool set_access(const std::string& path, Access access) {
  MountAttributes attributes{.set = access == Access::read_only ? k_read_only : 0,
                             .clear = access == Access::write ? k_read_only : 0,
                             .propagation = 0,
                             .user_namespace = 0};
  return ::syscall(SYS_mount_setattr,
                   AT_FDCWD,
                   path.c_str(),
                   k_recursive,
                   &attributes,
                   sizeof attributes) == 0;
}

bool lay_out_covers() {
  if (::mount("errand",
              k_workbench,
              "tmpfs",
              MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "mode=0755,size=4k,nr_inodes=8") != 0) {
    return false;
  }
  Descriptor file(::open(k_empty_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0444));
  const bool is_made = file && ::mkdir(k_empty_folder, 0555) == 0;
  file.reset();  // what is open for writing keeps the rest from becoming read-only
  return is_made && set_access(k_workbench, Access::read_only);
}

bool cover(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT || errno == EACCES;  // what cannot be reached is hidden already
  }
  return bind_mount(S_ISDIR(status.st_mode) ? k_empty_folder : k_empty_file, path);
}

bool cover_all(const std::vector<std::string>& places) {
  if (places.empty()) {
    return true;
  }
  bool is_covered = lay_out_covers();
  for (const std::string& place : places) {
    is_covered = cover(place) && is_covered;
  }
  return ::umount2(k_workbench, MNT_DETACH) == 0 && is_covered;
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
      if (pinned.insert(folder).second && !bind_mount(folder, folder)) {
        return false;
      }
    }
  }
  return true;
}

bool lock_all(const Profile& profile) {
  std::set<std::string> pinned;
  for (const std::string& place : profile.locked) {
    if (::access(place.c_str(), F_OK) != 0) {
      continue;
    }
    if (!pin_the_way(place, profile.writable, pinned) || !bind_mount(place, place) ||
        !set_access(place, Access::read_only)) {
      return false;
    }
  }
  return true;
}

bool empty_shared_memory() {
  return ::mount("errand",
                 k_shared_memory,
                 "tmpfs",
                 MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "mode=1777,size=64m") == 0 ||
         errno == ENOENT;
}

}  // namespace

bool make_mounts_private(const Profile& profile) {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         open_writable_alone(profile.writable) && lock_all(profile) && cover_all(profile.hidden) &&
         empty_shared_memory();
}

}  // namespace tools::sandbox
