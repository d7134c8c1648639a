#include "tools/files/regular_file.h"

#include "tools/feedback.h"
#include "tools/files/seen_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
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

// Of the very file that is then used. One without a name has none that could be judged.
Result<void> check_opened(const Descriptor& opened, std::string_view doing, const NamedPath& file) {
  if (file.policy == nullptr && (file.judge == nullptr || !*file.judge)) {
    return {};
  }
  const fs::path real = real_path(opened);
  struct stat status = {};
  if (real.empty() || (::fstat(opened.get(), &status) == 0 && status.st_nlink == 0 &&
                       real.native().ends_with(" (deleted)"))) {
    return file_error(doing, file.shown, ENOENT);
  }
  if (file.policy != nullptr) {
    TRY(check_verdict(file.policy->reading_by_file_tools(real), doing, file));
  }
  return check_rules(file, real);
}

// What the model can do about a refusal, and what a person could.
std::string without(std::string_view key, const NamedPath& file) {
  std::error_code error;
  const fs::path end = follow_links(file).value_or(file.path);
  const fs::path place = sandbox::nearest_there(fs::weakly_canonical(end, error));
  return error || file.policy == nullptr || !file.policy->may_be_named(place)
             ? "Do without it."
             : fmt::format("Do without it, or say that `{}` in the agent file opens it.",
                           sandbox::key_opening(key, place));
}

}  // namespace

std::unexpected<agent::Error> not_regular(const NamedPath& file, mode_t mode) {
  return fail(Code::tool_failed,
              fmt::format("{} is {}, not a regular file", in_ticks(file.shown), kind_of(mode)),
              S_ISDIR(mode) ? "Name a file in it." : "Only regular files can be used.");
}

Result<fs::path> follow_links(const NamedPath& file) {
  constexpr int k_max_links = 40;
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

fs::path real_path(const Descriptor& opened) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", opened.get()), error);
}

Result<void> check_verdict(sandbox::Verdict verdict,
                           std::string_view doing,
                           const NamedPath& file) {
  const auto refused = [&](std::string_view why, std::string suggestion) {
    return fail(
        Code::sandbox_violation,
        fmt::format("the sandbox does not let tools {} {}: {}", doing, in_ticks(file.shown), why),
        std::move(suggestion));
  };
  switch (verdict) {
    case sandbox::Verdict::allowed:
      return {};
    case sandbox::Verdict::closed:
      return refused("it is in a home folder or a secret place", without("read", file));
    case sandbox::Verdict::outside:
      return file.policy != nullptr && file.policy->is_read_only()
                 ? refused("the sandbox is read_only", without("write", file))
                 : refused("it is outside the workspace",
                           "Use a path in the working folder. " + without("write", file));
    case sandbox::Verdict::locked:
      return refused("it is one that tools must not change",
                     "Leave it alone; say what you want changed in it.");
    case sandbox::Verdict::git_folder:
      return refused("with it, git takes the folder for a repository and obeys what is in it",
                     "Use other names than HEAD, commondir, objects and refs; what is in a "
                     "repository is a person's to change.");
  }
  std::unreachable();
}

std::unexpected<agent::Error> file_error(std::string_view doing,
                                         std::string_view shown,
                                         int error_number) {
  const std::string name = in_ticks(shown);
  switch (error_number) {
    case ENOENT:
      return fail(Code::tool_failed,
                  fmt::format("there is no file or folder {}", name),
                  shown.starts_with("~/")
                      ? "`~` does not stand for the home folder here: give the whole path."
                      : "Check the path: list the folder that should hold it.");
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
                  fmt::format("{} is not a regular file", name),
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
                path.empty() ? "the path is empty" : "the path contains a NUL byte",
                "Give a path; relative ones start at the working folder.");
  }
  return NamedPath{.shown = std::string(path),
                   .path = context.cwd / fs::path(path),
                   .policy = context.policy,
                   .seen = context.seen,
                   .judge = &context.refuses_file};
}

Result<void> check_rules(const NamedPath& file, const fs::path& real) {
  const bool is_judged = !file.inside.empty() && sandbox::is_below(real, file.inside);
  if (is_judged || file.judge == nullptr || !*file.judge) {
    return {};
  }
  const auto why = (*file.judge)(real);
  return why ? Result<void>(fail(
                   Code::tool_policy_blocked,
                   fmt::format(
                       "{} is not what was permitted any more: {}", in_ticks(file.shown), *why),
                   "Look again at what is there."))
             : Result<void>();
}

// Judged before it is opened for reading: a device may do something then, and a journal that this
// process writes would lose its locks when it is closed again.
Result<RegularFile> open_regular(const NamedPath& file) {
  const Descriptor place(::open(file.path.c_str(), O_PATH | O_CLOEXEC));
  RegularFile opened;
  if (!place || ::fstat(place.get(), &opened.status) != 0) {
    return file_error("read", file.shown, errno);
  }
  TRY(check_opened(place, "read", file));
  if (!S_ISREG(opened.status.st_mode)) {
    return not_regular(file, opened.status.st_mode);
  }
  opened.descriptor = Descriptor(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(),
                                        O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!opened.descriptor || ::fstat(opened.descriptor.get(), &opened.status) != 0) {
    return file_error("read", file.shown, errno);
  }
  return opened;
}

void note_seen(const RegularFile& file, const NamedPath& name) {
  if (name.seen != nullptr) {
    name.seen->note(real_path(file.descriptor), file.status);
  }
}

Result<void> check_reading(const NamedPath& file) {
  if (file.policy == nullptr) {
    return {};
  }
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file.path, error);
  return check_verdict(file.policy->reading_by_file_tools(error ? file.path : real), "read", file);
}

Result<void> check_listing(const NamedPath& folder) {
  if (folder.policy == nullptr) {
    return {};
  }
  std::error_code error;
  const fs::path real = fs::canonical(folder.path, error);
  return error ? Result<void>()
               : check_verdict(folder.policy->reading_by_file_tools(real), "list", folder);
}

Result<Descriptor> open_folder(const NamedPath& folder) {
  Descriptor opened(::open(folder.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened) {
    return file_error("list", folder.shown, errno);
  }
  TRY(check_opened(opened, "list", folder));
  return opened;
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

}  // namespace tools
