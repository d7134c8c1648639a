#include "agent/absence.h"

#include <cerrno>
#include <sys/stat.h>

namespace agent {

bool is_absent(const std::filesystem::path& name) {
  struct stat status{};
  if (::lstat(name.c_str(), &status) == 0) {
    return false;
  }
  if (errno != ENOENT) {
    return errno == ENOTDIR;  // what is no folder holds nothing
  }
  const std::filesystem::path folder = name.parent_path();
  return folder.empty() || folder == name || ::stat(folder.c_str(), &status) == 0 ||
         is_absent(folder);
}

}  // namespace agent
