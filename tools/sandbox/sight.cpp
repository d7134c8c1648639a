#include "tools/sandbox/sight.h"

#include "agent/shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr auto k_seen = std::to_array<int>({ENOENT,
                                            ENOTDIR,
                                            ELOOP,
                                            EACCES,
                                            EPERM,
                                            ENAMETOOLONG,
                                            EINVAL,    // no link
                                            EISDIR,    // and no file
                                            ENXIO,     // a socket
                                            ENODEV});  // a device that nothing drives

}  // namespace

std::optional<agent::Error> Sight::trouble() const {
  if (is_whole()) {
    return std::nullopt;
  }
  return agent::error_of(
      error_number_,
      {.code = agent::Code::os_failed,
       .message = fmt::format("cannot look at `{}`, which git or errand may obey: {}",
                              where_.string(),
                              std::strerror(error_number_)),
       .help = {}});
}

agent::Descriptor Sight::open(const fs::path& path, int flags) {
  return opened(::open(path.c_str(), flags | O_CLOEXEC), path);
}

agent::Descriptor Sight::open_in(int folder, const fs::path& path, int flags) {
  return opened(::openat(folder, path.filename().c_str(), flags | O_CLOEXEC), path);
}

agent::Descriptor Sight::opened(int descriptor, const fs::path& where) {
  if (descriptor < 0) {
    failed(errno, where);
  }
  return agent::Descriptor(descriptor);
}

std::optional<struct stat> Sight::lstat(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) {
    failed(errno, path);
    return std::nullopt;
  }
  return status;
}

std::vector<Sight::Named> Sight::entries_of(int folder, const fs::path& path) {
  return read(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path);
}

std::vector<Sight::Named> Sight::entries_of(const fs::path& folder) {
  struct stat status = {};
  const bool is_shut = ::faccessat(AT_FDCWD, folder.c_str(), R_OK | X_OK, AT_EACCESS) != 0 &&
                       errno == EACCES && ::stat(folder.c_str(), &status) == 0 &&
                       S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  const bool is_opened =
      is_shut && opens_shut_ && ::chmod(folder.c_str(), (status.st_mode | S_IRWXU) & 07777) == 0;
  if (is_shut && !is_opened) {
    note(EACCES, folder);
  }
  return read(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder);
}

void Sight::walk(const fs::path& folder, const Visit& visit) {
  std::vector<fs::path> left{folder};
  while (!left.empty()) {
    const fs::path at = std::move(left.back());
    left.pop_back();
    for (Named& entry : entries_of(at)) {
      const fs::path path = at / entry.name;
      const auto status = entry.type == DT_UNKNOWN ? lstat(path) : std::nullopt;
      entry.type = status ? static_cast<unsigned char>(IFTODT(status->st_mode)) : entry.type;
      if (!visit(path, entry.type)) {
        return;
      }
      if (entry.type == DT_DIR) {
        left.push_back(path);
      }
    }
  }
}

std::vector<Sight::Named> Sight::read(int folder, const fs::path& where) {
  std::vector<Named> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(folder < 0 ? nullptr : ::fdopendir(folder),
                                                    ::closedir);
  const dirent* entry = nullptr;
  // Where it could not be opened, errno says why, and at the end that there is no more.
  while (entries != nullptr && (errno = 0, entry = ::readdir(entries.get())) != nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.push_back({.name = std::string(name), .type = entry->d_type});
    }
  }
  failed(errno, where);
  return names;
}

void Sight::failed(int error_number, const fs::path& where) {
  if (error_number != 0 && std::ranges::find(k_seen, error_number) == k_seen.end()) {
    note(error_number, where);
  }
}

void Sight::heed(const std::error_code& error, const fs::path& where) {
  if (error) {
    failed(error.value(), where);
  }
}

void Sight::add(const Sight& other) {
  if (!other.is_whole()) {
    note(other.error_number_, other.where_);
  }
}

void Sight::note(int error_number, const fs::path& where) {
  if (is_whole()) {
    error_number_ = error_number;
    where_ = where;
  }
}

}  // namespace tools::sandbox
