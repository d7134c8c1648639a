#include "tools/sandbox/shared_pictures.h"

#include "agent/error.h"
#include "agent/id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <set>
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
constexpr std::string_view k_unfinished = "new-";
constexpr const char* k_lock = "turn";
constexpr off_t k_largest = 256 << 20;  // bytes
constexpr mode_t k_folder_mode = 0700;
constexpr mode_t k_file_mode = 0600;
constexpr std::chrono::milliseconds k_first_pause{1};
constexpr std::chrono::milliseconds k_longest_pause{20};
constexpr std::time_t k_old_s = 60;  // what nobody writes any more

bool is_gone(const Descriptor& file) {
  struct stat status = {};
  return !file || ::fstat(file.get(), &status) != 0 || status.st_nlink == 0;
}

bool is_old(const fs::path& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_mtime + k_old_s < std::time(nullptr);
}

bool lacks_locks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
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
  take_away();
}

void ShownPicture::take_away() {
  if (!is_gone(file_)) {
    ::unlink(path_.c_str());
  }
  file_.reset();
}

// Of no name that others look at until it is whole, and shown.
agent::Result<void> ShownPicture::show(const fs::path& folder, const std::string& bytes) {
  take_away();
  const std::string id = agent::new_run_id();
  path_ = folder / fmt::format("{}{}", k_prefix, id);
  const fs::path unfinished = folder / fmt::format("{}{}", k_unfinished, id);
  file_ = Descriptor(
      ::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, k_file_mode));
  if (!file_) {
    return cannot_write(unfinished);
  }
  const int failed = agent::write_all(file_.get(), bytes);
  const bool is_written = failed == 0;
  const bool is_locked = is_written && ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
  const int error = failed != 0 ? failed : errno;
  if (is_locked && ::rename(unfinished.c_str(), path_.c_str()) == 0) {
    return {};
  }
  errno = is_locked ? errno : error;
  auto why = is_written && !is_locked && lacks_locks(errno) ? agent::Result<void>()  // for none
                                                            : cannot_write(unfinished);
  ::unlink(unfinished.c_str());
  file_.reset();
  return why;
}

bool ShownPicture::show_again() {
  return file_ && ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 && !is_gone(file_);
}

void ShownPicture::hide() {
  if (file_) {
    ::flock(file_.get(), LOCK_UN);
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

namespace {

// A byte of the file stands for a path: where two have the same one, somebody waits for nothing.
struct flock range_of(const fs::path& path, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a: every process has the same
  for (const char c : path.native()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  }
  lock.l_start = static_cast<off_t>(hash >> 2);
  lock.l_len = 1;
  return lock;
}

void let_go(int file) {
  struct flock all{};
  all.l_type = F_UNLCK;
  all.l_whence = SEEK_SET;  // and no length: to the end
  ::fcntl(file, F_OFD_SETLK, &all);
}

std::set<fs::path> folders_above(const std::vector<fs::path>& roots) {
  std::set<fs::path> above;
  for (const fs::path& root : roots) {
    for (fs::path at = root; at.has_relative_path();) {
      at = at.parent_path();
      above.insert(at);
    }
  }
  for (const fs::path& root : roots) {
    above.erase(root);
  }
  return above;
}

// The folders for itself, and those above them so that nobody has one of these. All or none.
bool lock_all(int file, const std::vector<fs::path>& roots, const std::set<fs::path>& above) {
  const auto lock = [file](const fs::path& path, short type) {
    struct flock wanted = range_of(path, type);
    return ::fcntl(file, F_OFD_SETLK, &wanted) == 0;
  };
  const bool are_locked =
      std::ranges::all_of(above, [&](const fs::path& one) { return lock(one, F_RDLCK); }) &&
      std::ranges::all_of(roots, [&](const fs::path& one) { return lock(one, F_WRLCK); });
  if (!are_locked) {
    const int error = errno;
    let_go(file);
    errno = error;
  }
  return are_locked;
}

}  // namespace

SharedPictures::Turn::~Turn() {
  if (locked_ >= 0) {
    let_go(locked_);
  }
}

agent::Result<SharedPictures::Turn> SharedPictures::take_turn(const std::vector<fs::path>& roots,
                                                              agent::Milliseconds patience,
                                                              const std::stop_token& stop) {
  if (folder_.empty()) {
    return Turn();
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  const std::set<fs::path> above = folders_above(roots);
  for (auto pause = k_first_pause;; pause = std::min(2 * pause, k_longest_pause)) {
    if (is_gone(lock_)) {
      lock_ = opened_lock();
    }
    if (!lock_ && agent::is_shortage(errno)) {
      return agent::fail(
          agent::Code::os_failed,
          fmt::format("cannot look for other runs in this folder: {}", std::strerror(errno)));
    }
    if (!lock_ || lock_all(lock_.get(), roots, above)) {
      return lock_ ? Turn(lock_.get()) : Turn();
    }
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return Turn();  // a file system without locks
    }
    if (stop.stop_requested()) {
      return agent::fail(agent::Code::run_cancelled, "stopped before it began");
    }
    if (std::chrono::steady_clock::now() >= until) {
      return agent::fail(
          agent::Code::os_failed,
          fmt::format("other runs have been looking at what programs may change in this folder for "
                      "{} s",
                      std::chrono::duration_cast<std::chrono::seconds>(patience).count()),
          "see whether one is stopped (Ctrl-Z), and let it go on or end it");
    }
    std::this_thread::sleep_for(pause);
  }
}

namespace {

// Else other folders have their names now.
bool stands_there(const OthersPicture& others, Sight& sight) {
  return std::ranges::all_of(others.picture.roots, [&](const auto& one) {
    const auto now = sight.lstat(one.first);
    return !now || (now->st_dev == one.second.st_dev && now->st_ino == one.second.st_ino);
  });
}

}  // namespace

std::vector<OthersPicture> SharedPictures::of_others(const std::vector<fs::path>& roots,
                                                     const std::vector<fs::path>& own,
                                                     Sight& sight) const {
  std::vector<OthersPicture> all;
  for (const Sight::Named& entry : sight.entries_of(folder_)) {
    const fs::path path = folder_ / entry.name;
    const bool is_whole = entry.name.starts_with(k_prefix);
    const bool is_left = entry.name.starts_with(k_unfinished) && is_old(path);
    if ((!is_whole && !is_left) || std::ranges::find(own, path) != own.end()) {
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
      if (auto picture = decode_picture(*bytes, roots); picture && stands_there(*picture, sight)) {
        all.push_back(*std::move(picture));
      }
    }
  }
  return all;
}

}  // namespace tools::sandbox
