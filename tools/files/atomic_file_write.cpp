#include "tools/files/atomic_file_write.h"

#include "tools/feedback.h"
#include "tools/files/seen_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <expected>
#include <fcntl.h>
#include <optional>
#include <stdio.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::Descriptor;
using agent::fail;
using agent::Result;
namespace fs = std::filesystem;

constexpr mode_t k_mode_bits = 07777;
constexpr mode_t k_read_bits = 0444;
constexpr mode_t k_execute_bits = 0111;

std::string hidden_name() {
  std::array<unsigned char, 6> bytes{};
  [[maybe_unused]] const auto got = getrandom(bytes.data(), bytes.size(), 0);
  return fmt::format(".errand-{:02x}.tmp", fmt::join(bytes, ""));
}

Result<void> check_writing(const NamedPath& file, const fs::path& real) {
  return file.policy == nullptr
             ? Result<void>()
             : check_verdict(file.policy->writing_by_file_tools(real), "write", file);
}

Result<void> check_writing(const NamedPath& file, const Descriptor& folder, const fs::path& name) {
  return check_writing(file, real_path(folder) / name);
}

// In a folder that was made for it just now: it is no git folder, nor in one.
Result<void> check_writing_in_new(const NamedPath& file,
                                  const Descriptor& folder,
                                  const fs::path& name) {
  return file.policy == nullptr
             ? Result<void>()
             : check_verdict(file.policy->writing(real_path(folder) / name), "write", file);
}

mode_t with_execution(mode_t mode, bool is_executable) {
  const mode_t without = mode & ~k_execute_bits;
  return is_executable ? without | ((mode & k_read_bits) >> 2U) : without;
}

// What people and systems hang on a file, whatever is in it. Not what vouches for its content, such
// as security.capability and security.ima, and not what a file system keeps for itself.
constexpr std::string_view k_access_list = "system.posix_acl_access";
constexpr auto k_kept_attributes = std::to_array<std::string_view>(
    {"user.", k_access_list, "system.nfs4_acl", "security.selinux", "security.SMACK64"});

bool is_kept(std::string_view attribute) {
  return std::ranges::any_of(k_kept_attributes, [&](std::string_view kept) {
    return kept.ends_with('.') ? attribute.starts_with(kept) : attribute == kept;
  });
}

// What `read` puts in a buffer of the size that it asks for; an errno.
template <typename Read>
std::expected<std::string, int> read_attribute(const Read& read) {
  for (int attempt = 0; attempt < 3; ++attempt) {  // it may grow in between
    const ssize_t size = read(nullptr, 0);
    std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
    const ssize_t got = size > 0 ? read(text.data(), text.size()) : size;
    if (got >= 0) {
      text.resize(static_cast<std::size_t>(got));
      return text;
    }
    if (errno != ERANGE) {
      return std::unexpected(errno);
    }
  }
  return std::unexpected(ERANGE);
}

// `old` is open as a path alone: it need not be one that may be read.
int take_attributes(const Descriptor& file, const Descriptor& old) {
  const std::string path = fmt::format("/proc/self/fd/{}", old.get());
  const auto names = read_attribute(
      [&](char* buffer, std::size_t size) { return ::listxattr(path.c_str(), buffer, size); });
  if (!names && names.error() != ENOTSUP) {
    return names.error();
  }
  bool has_list = false;
  for (std::string_view rest = names ? std::string_view(*names) : ""; !rest.empty();) {
    const std::string name(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (!is_kept(name)) {
      continue;
    }
    has_list = has_list || name == k_access_list;
    const auto value = read_attribute([&](char* buffer, std::size_t size) {
      return ::getxattr(path.c_str(), name.c_str(), buffer, size);
    });
    if (!value) {
      return value.error();
    }
    const bool is_set = ::fsetxattr(file.get(), name.c_str(), value->data(), value->size(), 0) == 0;
    if (!is_set && !(name.starts_with("security.") && (errno == EPERM || errno == ENOTSUP))) {
      return errno;  // labels are the system's to give
    }
  }
  // A new file may have got the list of its folder.
  const bool is_clear = has_list ||
                        ::fremovexattr(file.get(), std::string(k_access_list).c_str()) == 0 ||
                        errno == ENODATA || errno == ENOTSUP;
  return is_clear ? 0 : errno;
}

// As the kernel does it where a file is written to: who runs it is to be who it says no more.
mode_t mode_of_new_content(mode_t mode) {
  const mode_t groups = (mode & S_IXGRP) != 0 ? S_ISGID : 0;
  return mode & k_mode_bits & ~(S_ISUID | groups);
}

// The owner only where the process may; the mode last, because a new owner and a list change it.
int take_over(const Descriptor& file, const struct stat& old, const Descriptor& old_path) {
  const bool is_given = ::fchown(file.get(), old.st_uid, old.st_gid) == 0;
  if (!is_given && errno != EPERM && errno != EINVAL) {
    return errno;
  }
  const int failed = take_attributes(file, old_path);
  return failed != 0 || ::fchmod(file.get(), mode_of_new_content(old.st_mode)) == 0 ? failed
                                                                                    : errno;
}

// A network file system may say only here that the disk is full.
int close_well(Descriptor& file) {
  const int number = ::dup(file.get());
  const int failed = number < 0 || ::close(number) != 0 ? errno : 0;
  file.reset();
  return failed;
}

int error_of(int result) {
  return result == 0 ? 0 : errno;
}

}  // namespace

Result<std::unique_ptr<AtomicFileWrite>> AtomicFileWrite::open(NamedPath file) {
  std::unique_ptr<AtomicFileWrite> made(new AtomicFileWrite(std::move(file)));
  TRY(made->find());
  return made;
}

AtomicFileWrite::~AtomicFileWrite() {
  [[maybe_unused]] const auto done = put_back();
}

Result<void> AtomicFileWrite::find() {
  TRY_ASSIGN(const fs::path target, follow_links(file_));
  name_ = target.filename().string();
  if (name_.empty() || name_ == "." || name_ == "..") {
    return fail(Code::tool_failed, fmt::format("`{}` names a folder", one_line(file_.shown, 400)));
  }
  TRY(enter_folder(target.parent_path()));
  TRY(check_writing(file_, folder_, name_));
  path_ = real_path(folder_) / name_;
  TRY(check_rules(file_, path_));
  return check_place();
}

// What is checked is where each folder really is, and what is used afterwards is the descriptor:
// links that change meanwhile lead nowhere else.
Result<void> AtomicFileWrite::enter_folder(const fs::path& path) {
  constexpr int k_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  folder_ = Descriptor(::open("/", k_flags));
  const fs::path way = path.relative_path();
  bool is_new = false;  // folder_: it was made for this file, just now
  for (auto at = way.begin(); at != way.end(); ++at) {
    const fs::path& part = *at;
    Descriptor next(::openat(folder_.get(), part.c_str(), k_flags));
    if (!next && errno != ENOENT) {
      return file_error("write", file_.shown, errno);
    }
    const bool is_to_be_made = !next;
    if (is_to_be_made) {
      TRY(is_new ? check_writing_in_new(file_, folder_, part)
                 : check_writing(file_, folder_, part));
      if (made_.empty()) {  // nothing is made on the way to what may not be
        fs::path rest = real_path(folder_);
        std::for_each(at, way.end(), [&](const fs::path& one) { rest /= one; });
        rest = (rest / name_).lexically_normal();
        TRY(check_writing(file_, rest));
        TRY(check_rules(file_, rest));
      }
      const bool is_made = ::mkdirat(folder_.get(), part.c_str(), 0777) == 0;
      if (!is_made && errno != EEXIST) {
        return file_error("make the folder of", file_.shown, errno);
      }
      next = Descriptor(::openat(folder_.get(), part.c_str(), k_flags | O_NOFOLLOW));
      is_new = is_made;
      if (is_made) {
        made_.push_back({.parent = std::move(folder_), .name = part.string()});
      }
    }
    if (!next) {
      return file_error("make the folder of", file_.shown, errno);
    }
    is_new = is_new && is_to_be_made;
    folder_ = std::move(next);
  }
  return {};
}

Result<void> AtomicFileWrite::check_place() {
  exists_ = ::fstatat(folder_.get(), name_.c_str(), &old_, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists_) {
    return errno == ENOENT ? Result<void>() : file_error("write", file_.shown, errno);
  }
  if (!S_ISREG(old_.st_mode)) {
    return not_regular(file_, old_.st_mode);
  }
  if (::faccessat(folder_.get(), name_.c_str(), W_OK, AT_EACCESS) != 0) {
    return file_error("write", file_.shown, errno);
  }
  return {};
}

Result<void> AtomicFileWrite::check_known() const {
  if (!exists_ || old_.st_size == 0 || file_.seen == nullptr) {
    return {};  // nothing is lost that the model does not know
  }
  const std::string shown = one_line(file_.shown, 400);
  switch (file_.seen->state(path_, old_)) {
    case SeenFiles::State::known:
      return {};
    case SeenFiles::State::changed:
      return fail(Code::tool_failed,
                  fmt::format("`{}` has changed since you read or wrote it", shown),
                  "Read it again with read_file, then make the change that still fits.");
    case SeenFiles::State::unseen:
      break;
  }
  return fail(Code::tool_failed,
              fmt::format("`{}` exists, and you have not read it in this run", shown),
              "Read it with read_file first, then change it.");
}

Result<void> AtomicFileWrite::check_is(const struct stat& seen) const {
  if (exists_ && is_unchanged(seen, old_)) {
    return {};
  }
  return fail(
      Code::tool_failed,
      fmt::format("`{}` was changed by somebody else meanwhile", one_line(file_.shown, 400)),
      "Read the file again and repeat the change.");
}

// Written in place it would change files that are somewhere else under other names, where nobody
// said that tools may write; renamed over, it would be cut off from them in silence.
Result<void> AtomicFileWrite::check_one_name() const {
  if (old_.st_nlink <= 1) {
    return {};
  }
  const std::string shown = one_line(file_.shown, 400);
  return fail(
      Code::tool_failed,
      fmt::format("`{}` has {} names (hard links), and a change would reach the others or "
                  "cut it off from them",
                  shown,
                  old_.st_nlink),
      "Where it may be cut off, copy it first (cp -p FILE NEW && mv NEW FILE); else leave it, "
      "and say what you want changed.");
}

Result<void> AtomicFileWrite::draft(std::string_view content,
                                    const AtomicFileWrite* like,
                                    std::optional<bool> is_executable) {
  Descriptor old;
  if (like != nullptr) {
    TRY(like->check_one_name());
    old = Descriptor(
        ::openat(like->folder_.get(), like->name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!old) {
      return file_error("write", file_.shown, errno);
    }
  }
  draft_ = hidden_name();
  Descriptor descriptor(
      ::openat(folder_.get(), draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  int failed = descriptor ? 0 : errno;
  if (failed != 0) {
    draft_.clear();
  }
  failed = failed != 0 ? failed : agent::write_all(descriptor.get(), content);
  failed = failed != 0 || like == nullptr ? failed : take_over(descriptor, like->old_, old);
  failed = failed != 0 ? failed : error_of(::fstat(descriptor.get(), &new_));
  if (failed == 0 && is_executable) {
    const mode_t mode = with_execution(new_.st_mode & k_mode_bits, *is_executable);
    failed = error_of(::fchmod(descriptor.get(), mode));
  }
  failed = failed != 0 ? failed : close_well(descriptor);
  return failed == 0 ? Result<void>() : file_error("write", file_.shown, failed);
}

Result<void> AtomicFileWrite::take_place() {
  TRY(check_writing(file_, folder_, name_));
  if (::renameat(folder_.get(), draft_.c_str(), folder_.get(), name_.c_str()) != 0) {
    return file_error("write", file_.shown, errno);
  }
  draft_.clear();
  stage_ = Stage::kept;
  note();
  return {};
}

Result<void> AtomicFileWrite::check_still() const {
  struct stat now = {};
  const bool exists = ::fstatat(folder_.get(), name_.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists == exists_ && (!exists || is_unchanged(old_, now))) {
    return {};
  }
  return fail(
      Code::tool_failed,
      fmt::format("`{}` was changed by somebody else meanwhile", one_line(file_.shown, 400)),
      "Read the file again and repeat the change.");
}

// Not over what is there by now, where the file system can promise that.
int AtomicFileWrite::rename_new(const std::string& from, const std::string& to) const {
  const int at = folder_.get();
  if (::renameat2(at, from.c_str(), at, to.c_str(), RENAME_NOREPLACE) == 0) {
    return 0;
  }
  return errno == EINVAL ? error_of(::renameat(at, from.c_str(), at, to.c_str())) : errno;
}

// A second name for the old content; on file systems without links, its only one.
int AtomicFileWrite::back_up() {
  backup_ = hidden_name();
  const int at = folder_.get();
  is_linked_ = ::linkat(at, name_.c_str(), at, backup_.c_str(), 0) == 0;
  if (is_linked_) {
    return 0;
  }
  const int failed = rename_new(name_, backup_);
  if (failed != 0) {
    backup_.clear();
  }
  return failed;
}

// The place has the old content, or gets it again.
void AtomicFileWrite::drop_backup() {
  if (is_linked_) {
    drop(backup_);
  } else if (!backup_.empty()) {
    rename_new(backup_, name_);
    backup_.clear();
  }
}

Result<void> AtomicFileWrite::swap_in() {
  TRY(check_still());
  TRY(check_writing(file_, folder_, name_));  // files of the same change may stand there by now
  if (!exists_) {
    if (const int failed = rename_new(draft_, name_); failed != 0) {
      return file_error("write", file_.shown, failed);
    }
  } else {
    int failed = back_up();
    if (failed == 0) {
      const int at = folder_.get();
      failed = error_of(::renameat(at, draft_.c_str(), at, name_.c_str()));
    }
    if (failed != 0) {
      drop_backup();
      return file_error("write", file_.shown, failed);
    }
  }
  draft_.clear();
  stage_ = Stage::replaced;
  return {};
}

Result<void> AtomicFileWrite::set_aside() {
  TRY(check_still());
  backup_ = hidden_name();
  if (const int failed = rename_new(name_, backup_); failed != 0) {
    backup_.clear();
    return file_error("delete", file_.shown, failed);
  }
  stage_ = Stage::removed;
  return {};
}

void AtomicFileWrite::keep() {
  drop(backup_);
  if (stage_ == Stage::replaced) {
    note();
  }
  stage_ = Stage::kept;
}

Result<void> AtomicFileWrite::put_back() {
  const int at = folder_.get();
  int failed = 0;
  if (stage_ == Stage::replaced) {
    failed = exists_ ? error_of(::renameat(at, backup_.c_str(), at, name_.c_str()))
                     : error_of(::unlinkat(at, name_.c_str(), 0));
  } else if (stage_ == Stage::removed) {
    failed = rename_new(backup_, name_);
  }
  const std::string left = std::exchange(backup_, {});
  if (stage_ != Stage::kept) {
    stage_ = Stage::prepared;
    drop(draft_);
    for (; !made_.empty(); made_.pop_back()) {
      ::unlinkat(made_.back().parent.get(), made_.back().name.c_str(), AT_REMOVEDIR);
    }
  }
  if (failed == 0) {
    return {};
  }
  return fail(
      Code::tool_failed,
      fmt::format("`{}` could not be put back ({}){}",
                  one_line(file_.shown, 400),
                  std::generic_category().message(failed),
                  left.empty() ? std::string()
                               : fmt::format("; its old content is in `{}` beside it", left)));
}

void AtomicFileWrite::drop(std::string& name) const {
  if (!name.empty()) {
    ::unlinkat(folder_.get(), name.c_str(), 0);
    name.clear();
  }
}

void AtomicFileWrite::note() const {
  if (file_.seen != nullptr) {
    file_.seen->note(path_, new_);
  }
}

Result<void> check_place_to_write(const NamedPath& file) {
  if (file.policy == nullptr) {
    return {};
  }
  TRY_ASSIGN(const fs::path target, follow_links(file));
  std::error_code error;
  const fs::path real = fs::weakly_canonical(target.parent_path(), error) / target.filename();
  return check_verdict(file.policy->writing_by_file_tools(error ? target : real), "write", file);
}

Result<Replaced> replace_file(const NamedPath& file, std::string_view content) {
  TRY_ASSIGN(const auto place, AtomicFileWrite::open(file));
  TRY(place->check_known());
  TRY(place->draft(content, place->exists() ? place.get() : nullptr));
  TRY(place->take_place());
  return Replaced{.is_new = !place->exists(),
                  .old_size = place->exists() ? place->old_status().st_size : 0};
}

}  // namespace tools
