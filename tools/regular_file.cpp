#include "tools/regular_file.h"

#include "tools/enclosure.h"
#include "tools/feedback.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/random.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
namespace fs = std::filesystem;

constexpr int k_max_links = 40;
constexpr mode_t k_mode_bits = 07777;

std::string in_ticks(std::string_view path) {
  return "`" + one_line(path, 400) + "`";
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) {
    return "a folder";
  }
  if (S_ISFIFO(mode)) {
    return "a named pipe";
  }
  if (S_ISSOCK(mode)) {
    return "a socket";
  }
  return "a device";
}

std::unexpected<agent::Error> not_regular(const NamedPath& file, mode_t mode) {
  return fail(Code::tool_failed,
              fmt::format("{} is {}, not a regular file", in_ticks(file.shown), kind_of(mode)),
              S_ISDIR(mode) ? "Name a file in it." : "Only regular files can be used.");
}

// Where a chain of links ends; the last path need not exist.
Result<fs::path> follow_links(const NamedPath& file) {
  fs::path path = file.path;
  for (int links = 0; links < k_max_links; ++links) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) {
      return path;  // no link: a file, or nothing yet
    }
    path = path.parent_path() / target;
  }
  return file_error("follow", file.shown, ELOOP);
}

std::string random_suffix() {
  std::array<unsigned char, 6> bytes{};
  [[maybe_unused]] const auto got = getrandom(bytes.data(), bytes.size(), 0);
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// Where an open file or folder really is.
fs::path real_path(const Descriptor& opened) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", opened.get()), error);
}

Result<void> check_verdict(sandbox::Verdict verdict,
                           std::string_view doing,
                           const NamedPath& file) {
  const auto refused = [&](std::string_view why, std::string_view suggestion) {
    return fail(
        Code::sandbox_violation,
        fmt::format("the sandbox does not let tools {} {}: {}", doing, in_ticks(file.shown), why),
        std::string(suggestion));
  };
  switch (verdict) {
    case sandbox::Verdict::allowed:
      return {};
    case sandbox::Verdict::secret:
      return refused("it is in a place where secrets are kept", "Do without it.");
    case sandbox::Verdict::outside:
      return refused("it is outside the workspace", "Use a path in the working folder.");
    case sandbox::Verdict::locked:
      return refused("it is one that tools must not change",
                     "Leave it alone; say what you want changed in it.");
  }
  std::unreachable();
}

Result<void> check_writing(const NamedPath& file, const Descriptor& folder, const fs::path& name) {
  return file.policy == nullptr
             ? Result<void>()
             : check_verdict(file.policy->writing(real_path(folder) / name), "write", file);
}

// The folder of a target, missing ones made. What is checked is where each really is, and what is
// used afterwards is the descriptor: links that change meanwhile lead nowhere else.
Result<Descriptor> enter_folder(const NamedPath& file, const fs::path& path) {
  constexpr int k_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  Descriptor folder(::open("/", k_flags));
  for (const fs::path& part : path.relative_path()) {
    Descriptor next(::openat(folder.get(), part.c_str(), k_flags));
    if (!next && errno != ENOENT) {
      return file_error("write", file.shown, errno);
    }
    if (!next) {
      TRY(check_writing(file, folder, part));
      if (::mkdirat(folder.get(), part.c_str(), 0777) != 0 && errno != EEXIST) {
        return file_error("make the folder of", file.shown, errno);
      }
      next = Descriptor(::openat(folder.get(), part.c_str(), k_flags | O_NOFOLLOW));
    }
    if (!next) {
      return file_error("make the folder of", file.shown, errno);
    }
    folder = std::move(next);
  }
  return folder;
}

// The new content under a name of its own, removed unless it took the target's place.
class Draft {
 public:
  // `folder` is borrowed.
  explicit Draft(const Descriptor& folder)
      : folder_(folder.get()), name_(fmt::format(".errand-{}.tmp", random_suffix())) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (exists_) {
      ::unlinkat(folder_, name_.c_str(), 0);
    }
  }

  // 0 or errno, each of them. The kernel applies the umask.
  int open() {
    descriptor_ =
        Descriptor(::openat(folder_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    exists_ = static_cast<bool>(descriptor_);
    return exists_ ? 0 : errno;
  }
  int write(std::string_view content) {
    while (!content.empty()) {
      const ssize_t written = ::write(descriptor_.get(), content.data(), content.size());
      if (written < 0 && errno != EINTR) {
        return errno;
      }
      content.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return 0;
  }
  // The owner only where the process may; the mode after it, because a new owner clears bits.
  int take_over(const struct stat& old) {
    const bool is_given = ::fchown(descriptor_.get(), old.st_uid, old.st_gid) == 0;
    if (!is_given && errno != EPERM && errno != EINVAL) {
      return errno;
    }
    return ::fchmod(descriptor_.get(), old.st_mode & k_mode_bits) == 0 ? 0 : errno;
  }
  // A network file system may say only here that the disk is full.
  int close() {
    const int number = ::dup(descriptor_.get());
    const int failed = number < 0 || ::close(number) != 0 ? errno : 0;
    descriptor_.reset();
    return failed;
  }
  int rename_to(const fs::path& name) {
    if (::renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) {
      return errno;
    }
    exists_ = false;
    return 0;
  }

 private:
  int folder_;
  std::string name_;
  Descriptor descriptor_;
  bool exists_ = false;
};

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

Result<void> check_target(const NamedPath& file,
                          const Descriptor& folder,
                          const fs::path& name,
                          const struct stat& status,
                          const struct stat* seen) {
  if (!S_ISREG(status.st_mode)) {
    return not_regular(file, status.st_mode);
  }
  if (::faccessat(folder.get(), name.c_str(), W_OK, AT_EACCESS) != 0) {
    return file_error("write", file.shown, errno);
  }
  if (seen != nullptr && !is_same(*seen, status)) {
    return fail(Code::tool_failed,
                fmt::format("{} was changed by somebody else meanwhile", in_ticks(file.shown)),
                "Read the file again and repeat the change.");
  }
  return {};
}

}  // namespace

std::unexpected<agent::Error> file_error(std::string_view doing,
                                         std::string_view shown,
                                         int error_number) {
  const std::string name = in_ticks(shown);
  switch (error_number) {
    case ENOENT:
      return fail(Code::tool_failed,
                  fmt::format("there is no file or folder {}", name),
                  "Check the path: list the folder that should hold it.");
    case EACCES:
    case EPERM:
    case EROFS:
      return fail(Code::tool_failed,
                  fmt::format("no permission to {} {}", doing, name),
                  "Use another path; this one is closed to you.");
    case ENOTDIR:
      return fail(
          Code::tool_failed,
          fmt::format("cannot {} {}: a part of the path is a file, not a folder", doing, name),
          "Check the path: list the folder that should hold it.");
    case ENXIO:  // a pipe without a reader, a socket, a device without a driver
      return fail(Code::tool_failed,
                  fmt::format("{} is no regular file", name),
                  "Only regular files can be used.");
    default:
      return fail(
          Code::tool_failed,
          fmt::format(
              "cannot {} {}: {}", doing, name, std::generic_category().message(error_number)));
  }
}

Output failure(const agent::Error& error) {
  return failure(error.code, error.message, error.help);
}

Result<NamedPath> resolve(std::string_view path, const CallContext& context) {
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return fail(Code::tool_invalid_parameters,
                path.empty() ? "the path is empty" : "the path has a NUL byte in it",
                "Give a path; relative ones start at the working folder.");
  }
  return NamedPath{.shown = std::string(path),
                   .path = context.cwd / fs::path(path),
                   .policy = context.enclosure != nullptr ? &context.enclosure->policy() : nullptr};
}

Result<RegularFile> open_regular(const NamedPath& file) {
  RegularFile opened{.descriptor = Descriptor(
                         ::open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY))};
  if (!opened.descriptor) {
    return file_error("read", file.shown, errno);
  }
  if (::fstat(opened.descriptor.get(), &opened.status) != 0) {
    return file_error("read", file.shown, errno);
  }
  if (file.policy != nullptr) {
    TRY(check_verdict(file.policy->reading(real_path(opened.descriptor)), "read", file));
  }
  if (!S_ISREG(opened.status.st_mode)) {
    return not_regular(file, opened.status.st_mode);
  }
  return opened;
}

Result<void> check_listing(const NamedPath& folder) {
  if (folder.policy == nullptr) {
    return {};
  }
  std::error_code error;
  const fs::path real = fs::canonical(folder.path, error);
  return error ? Result<void>() : check_verdict(folder.policy->reading(real), "list", folder);
}

Result<std::size_t> read_some(const RegularFile& file,
                              const NamedPath& name,
                              char* buffer,
                              std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(file.descriptor.get(), buffer, size);
    if (got >= 0) {
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR) {
      return file_error("read", name.shown, errno);
    }
  }
}

Result<std::string> read_whole(const RegularFile& file,
                               const NamedPath& name,
                               std::size_t limit,
                               const std::stop_token& stop) {
  constexpr std::size_t k_step = 256 << 10;
  std::string content;
  for (;;) {
    if (stop.stop_requested()) {
      return fail(Code::tool_cancelled, "stopped while reading");
    }
    const std::size_t before = content.size();
    content.resize(before + k_step);
    TRY_ASSIGN(const std::size_t got, read_some(file, name, content.data() + before, k_step));
    content.resize(before + got);
    if (content.size() > limit) {
      return fail(Code::tool_failed,
                  fmt::format("{} is larger than {} MB", in_ticks(name.shown), limit >> 20),
                  "Change a file of this size with a program, not as a whole.");
    }
    if (got == 0) {
      return content;
    }
  }
}

Result<Replaced> replace_file(const NamedPath& file,
                              std::string_view content,
                              const struct stat* seen) {
  TRY_ASSIGN(const fs::path target, follow_links(file));
  const fs::path name = target.filename();
  if (name.empty() || name == "." || name == "..") {
    return fail(Code::tool_failed, fmt::format("{} names a folder", in_ticks(file.shown)));
  }
  TRY_ASSIGN(const Descriptor folder, enter_folder(file, target.parent_path()));
  TRY(check_writing(file, folder, name));
  struct stat old = {};
  const bool exists = ::fstatat(folder.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists) {
    TRY(check_target(file, folder, name, old, seen));
  } else if (errno != ENOENT) {
    return file_error("write", file.shown, errno);
  }
  Draft draft(folder);
  int failed = draft.open();
  failed = failed != 0 ? failed : draft.write(content);
  failed = failed != 0 || !exists ? failed : draft.take_over(old);
  failed = failed != 0 ? failed : draft.close();
  failed = failed != 0 ? failed : draft.rename_to(name);
  if (failed != 0) {
    return file_error("write", file.shown, failed);
  }
  return Replaced{.is_new = !exists, .old_size = exists ? old.st_size : 0};
}

}  // namespace tools
