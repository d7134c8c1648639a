#include "agent/durable_file.h"

#include "agent/descriptor.h"
#include "agent/id.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace agent {
namespace {

int write_draft(const std::string& draft, std::string_view text, mode_t mode) {
  const Descriptor opened(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!opened) {
    return errno;
  }
  if (const int error = write_all(opened.get(), text); error != 0) {
    return error;
  }
  return ::fsync(opened.get()) == 0 ? 0 : errno;
}

}  // namespace

int write_durably(const std::filesystem::path& file, std::string_view text, mode_t mode) {
  const std::string draft = file.string() + "." + new_run_id();
  int error = write_draft(draft, text, mode);
  if (error == 0 && ::rename(draft.c_str(), file.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(draft.c_str());
    return error;
  }
  return sync_folder(file.parent_path());
}

int sync_folder(const std::filesystem::path& folder) {
  const char* const name = folder.empty() ? "." : folder.c_str();
  const Descriptor opened(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && ::fsync(opened.get()) == 0 ? 0 : errno;
}

}  // namespace agent
