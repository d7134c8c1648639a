#include "tools/sandbox/obeyed_below.h"

#include "agent/descriptor.h"
#include "agent/text.h"
#include "tools/sandbox/repository.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_seen = 1'000'000;
constexpr std::size_t k_deepest = 500;  // each level is an open file
constexpr mode_t k_looking = S_IRUSR | S_IXUSR;

fs::path handle_of(const agent::Descriptor& folder) {
  return fmt::format("/proc/self/fd/{}", folder.get());
}

ObeyedPlace::Identity identity_of(int folder, const char* name, Sight& sight) {
  struct statx status = {};
  ObeyedPlace::Identity identity;
  if (::statx(
          folder, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) ==
      0) {
    identity.device = {status.stx_dev_major, status.stx_dev_minor};
    identity.number = status.stx_ino;
    if ((status.stx_mask & STATX_BTIME) != 0) {
      identity.birth = {status.stx_btime.tv_sec, status.stx_btime.tv_nsec};
    }
  } else {
    sight.failed(errno, name);
  }
  return identity;
}

class Look {
 public:
  Look(const FoundObeyed& found, Sight& sight) : found_(found), sight_(sight) {}

  bool below(const fs::path& root) {
    enter(AT_FDCWD, root, root);
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.inner.empty() || seen_ > k_most_seen) {
        shut_again(level.folder, level.shut);
        levels_.pop_back();
        continue;
      }
      const std::string name = std::move(level.inner.back());
      level.inner.pop_back();
      enter(level.folder.get(), name, level.path / name);
    }
    return is_whole_;
  }

 private:
  struct Level {
    agent::Descriptor folder;
    fs::path path;
    std::vector<std::string> inner = {};  // folders that are still to be entered
    std::optional<mode_t> shut = {};      // its mode, where it had to be opened
  };

  static void shut_again(const agent::Descriptor& folder, std::optional<mode_t> mode) {
    if (mode) {
      ::chmod(handle_of(folder).c_str(), *mode & 07777);
    }
  }

  void enter(int parent, const fs::path& name, const fs::path& path) {
    const agent::Descriptor way(
        ::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!way || ::fstat(way.get(), &status) != 0) {
      sight_.failed(errno, path);
      is_whole_ = is_whole_ && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
      return;
    }
    std::optional<mode_t> shut;
    if (status.st_uid == ::geteuid() && (status.st_mode & k_looking) != k_looking) {
      shut = status.st_mode;
      ::chmod(handle_of(way).c_str(), (status.st_mode | S_IRWXU) & 07777);
    }
    agent::Descriptor folder(::openat(way.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    sight_.failed(folder ? 0 : errno, path);
    if (!folder || levels_.size() >= k_deepest) {
      // Where nobody of this user can enter, no program has made anything either.
      is_whole_ = is_whole_ && !folder && ::faccessat(way.get(), ".", X_OK, 0) != 0;
      shut_again(way, shut);
      return;
    }
    levels_.push_back({.folder = std::move(folder), .path = path, .shut = shut});
    read(levels_.back());
  }

  void read(Level& level) {
    const int own = ::openat(level.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(own < 0 ? nullptr : ::fdopendir(own),
                                                      ::closedir);
    sight_.failed(entries != nullptr ? 0 : errno, level.path);
    is_whole_ = is_whole_ && entries != nullptr;
    bool has_head = false;
    Sight sight;  // what one level hides says nothing of the others
    std::vector<ObeyedPlace> obeyed;
    while (entries != nullptr) {
      errno = 0;
      const dirent* const entry = ::readdir(entries.get());
      if (entry == nullptr) {
        is_whole_ = is_whole_ && errno == 0;
        break;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") {
        continue;
      }
      if (++seen_ > k_most_seen) {
        is_whole_ = false;
        break;
      }
      has_head = has_head || agent::to_lower(name) == "head";
      if (const auto kind = kind_of(level, *entry)) {
        obeyed.push_back({.path = level.path / name,
                          .kind = *kind,
                          .identity = identity_of(level.folder.get(), entry->d_name, sight)});
      } else if (is_folder(level, *entry)) {
        level.inner.emplace_back(name);
      }
    }
    if (has_head && is_git_folder(handle_of(level.folder), sight)) {
      obeyed.push_back({.path = level.path,
                        .kind = ObeyedPlace::Kind::repository,
                        .identity = identity_of(level.folder.get(), "", sight)});
    }
    if (!sight.is_whole()) {
      sight_.add(sight);
      is_whole_ = false;
      return;
    }
    for (const ObeyedPlace& place : obeyed) {  // not before: it may change the folder
      const fs::path now = found_(place);
      if (!now.empty() && place.kind == ObeyedPlace::Kind::own_name) {
        level.inner.push_back(now.filename());
      }
    }
  }

  static bool is_folder(const Level& level, const dirent& entry) {
    struct stat status = {};
    return entry.d_type == DT_DIR ||
           (entry.d_type == DT_UNKNOWN &&
            ::fstatat(level.folder.get(), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode));
  }

  static std::optional<ObeyedPlace::Kind> kind_of(const Level& level, const dirent& entry) {
    if (is_obeyed_anywhere(entry.d_name)) {
      return ObeyedPlace::Kind::own_name;
    }
    return is_obeyed_file(entry.d_name) && !is_folder(level, entry)
               ? std::optional(ObeyedPlace::Kind::file)
               : std::nullopt;
  }

  const FoundObeyed& found_;
  Sight& sight_;
  std::vector<Level> levels_;  // from the root to where it looks
  std::size_t seen_ = 0;
  bool is_whole_ = true;
};

}  // namespace

ObeyedPlace::Identity identity_of(const fs::path& path, Sight& sight) {
  return identity_of(AT_FDCWD, path.c_str(), sight);
}

nlohmann::json kept_identity(const ObeyedPlace::Identity& identity) {
  nlohmann::json kept = {identity.device.first, identity.device.second, identity.number};
  if (identity.birth) {
    kept.push_back(identity.birth->first);
    kept.push_back(identity.birth->second);
  }
  return kept;
}

ObeyedPlace::Identity identity_from(const nlohmann::json& kept) {
  ObeyedPlace::Identity identity{
      .device = {kept.at(0).get<std::uint32_t>(), kept.at(1).get<std::uint32_t>()},
      .number = kept.at(2).get<std::uint64_t>()};
  if (kept.size() > 3) {
    identity.birth = {kept.at(3).get<std::int64_t>(), kept.at(4).get<std::uint32_t>()};
  }
  return identity;
}

bool find_obeyed_below(const std::vector<fs::path>& roots, const FoundObeyed& found, Sight& sight) {
  Look look(found, sight);
  bool is_whole = true;
  for (const fs::path& root : roots) {
    is_whole = look.below(root) && is_whole;
  }
  return is_whole;
}

}  // namespace tools::sandbox
