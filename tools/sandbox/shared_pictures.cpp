#include "tools/sandbox/shared_pictures.h"

#include "agent/error.h"
#include "agent/id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;
using agent::Descriptor;

constexpr std::string_view k_prefix = "picture-1-";  // another number for another form
constexpr const char* k_lock = "turn";
constexpr off_t k_largest = 256 << 20;  // bytes
constexpr mode_t k_folder_mode = 0700;
constexpr mode_t k_file_mode = 0600;
constexpr std::chrono::seconds k_patience{30};  // with one who looks, or puts back
constexpr std::chrono::milliseconds k_pause{1};

bool is_gone(const Descriptor& file) {
  struct stat status = {};
  return !file || ::fstat(file.get(), &status) != 0 || status.st_nlink == 0;
}

// Nobody but errand writes there.
std::optional<std::string> content_of(const Descriptor& file, const fs::path& path, Sight& sight) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || status.st_size > k_largest) {
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got <= 0) {
      sight.failed(got < 0 ? errno : 0, path);
      return std::nullopt;
    }
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

agent::Result<void> cannot_write(const fs::path& path) {
  return agent::fail(agent::Code::os_failed,
                     fmt::format("cannot write `{}`, by which runs that work in one folder know of "
                                 "each other: {}",
                                 path.string(),
                                 std::strerror(errno)));
}

}  // namespace

ShownPicture::~ShownPicture() {
  if (!is_gone(file_)) {
    ::unlink(path_.c_str());
  }
}

agent::Result<void> ShownPicture::show(const fs::path& folder, const std::string& bytes) {
  if (is_gone(file_)) {
    path_ = folder / fmt::format("{}{}", k_prefix, agent::new_run_id());
    file_ = Descriptor(
        ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, k_file_mode));
  }
  if (!file_ || ::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0) {
    return cannot_write(path_);
  }
  if (const int failed = agent::write_all(file_.get(), bytes); failed != 0) {
    errno = failed;
    return cannot_write(path_);
  }
  return ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 ? agent::Result<void>() : cannot_write(path_);
}

bool ShownPicture::show_again() {
  return !is_gone(file_) && ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
}

void ShownPicture::hide() {
  if (file_) {
    ::flock(file_.get(), LOCK_UN);
  }
}

SharedPictures::Turn::~Turn() {
  if (locked_ >= 0) {
    ::flock(locked_, LOCK_UN);
  }
}

// None where it cannot be made.
Descriptor SharedPictures::opened_lock() const {
  std::error_code ignored;
  fs::create_directories(folder_.parent_path(), ignored);
  ::mkdir(folder_.c_str(), k_folder_mode);
  return Descriptor(::open((folder_ / k_lock).c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                           k_file_mode));
}

agent::Result<SharedPictures::Turn> SharedPictures::take_turn() {
  if (folder_.empty()) {
    return Turn();
  }
  const auto until = std::chrono::steady_clock::now() + k_patience;
  for (;;) {
    if (is_gone(lock_)) {
      lock_ = opened_lock();
    }
    if (!lock_ && agent::is_shortage(errno)) {
      return agent::fail(
          agent::Code::os_failed,
          fmt::format("cannot look for other runs in this folder: {}", std::strerror(errno)));
    }
    if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) {
      return lock_ ? Turn(lock_.get()) : Turn();
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Turn();  // a file system without locks
    }
    if (std::chrono::steady_clock::now() >= until) {
      return agent::fail(agent::Code::os_failed,
                         fmt::format("another errand has been looking at what its programs may "
                                     "change for {} s: `{}` is locked",
                                     k_patience.count(),
                                     (folder_ / k_lock).string()));
    }
    std::this_thread::sleep_for(k_pause);
  }
}

std::vector<OthersPicture> SharedPictures::of_others(const std::vector<fs::path>& own,
                                                     Sight& sight) const {
  std::vector<OthersPicture> all;
  for (const Sight::Named& entry : sight.entries_of(folder_)) {
    const fs::path path = folder_ / entry.name;
    if (!entry.name.starts_with(k_prefix) || std::ranges::find(own, path) != own.end()) {
      continue;
    }
    const Descriptor file = sight.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (!file) {
      continue;
    }
    if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
      ::unlink(path.c_str());  // nobody shows it now, or will without writing it anew
      continue;
    }
    if (const auto bytes = content_of(file, path, sight)) {
      if (auto picture = decode_picture(*bytes)) {
        all.push_back(*std::move(picture));
      }
    }
  }
  return all;
}

}  // namespace tools::sandbox
