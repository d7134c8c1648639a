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

agent::Descriptor Sight::open(int folder, const char* name, int flags) {
  agent::Descriptor opened(::openat(folder, name, flags | O_CLOEXEC));
  if (!opened) {
    failed(errno, name);
  }
  return opened;
}

agent::Descriptor Sight::open(const fs::path& path, int flags) {
  return open(AT_FDCWD, path.c_str(), flags);
}

std::optional<struct stat> Sight::lstat(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) {
    failed(errno, path);
    return std::nullopt;
  }
  return status;
}

std::vector<Sight::Named> Sight::entries_of(int folder) {
  return read(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ".");
}

std::vector<Sight::Named> Sight::entries_of(const fs::path& folder) {
  return read(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder);
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
  if (error_number != 0 && is_whole() && std::ranges::find(k_seen, error_number) == k_seen.end()) {
    error_number_ = error_number;
    where_ = where;
  }
}

void Sight::heed(const std::error_code& error, const fs::path& where) {
  if (error) {
    failed(error.value(), where);
  }
}

}  // namespace tools::sandbox
