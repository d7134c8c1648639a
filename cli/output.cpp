#include "cli/output.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Descriptor;
using agent::Result;

constexpr mode_t k_mode = 0666;

std::unexpected<agent::Error> refuse_file(const std::string& file, int error) {
  if (agent::is_shortage(error)) {
    return agent::fail(agent::Code::os_failed,
                       fmt::format("cannot open `{}`: {}", file, std::strerror(error)));
  }
  return agent::fail(agent::Code::cli_cannot_create,
                     fmt::format("cannot create `{}`: {}", file, std::strerror(error)),
                     "name a file in a folder that exists and may be written");
}

std::unexpected<agent::Error> refuse_link(const fs::path& file) {
  std::error_code error;
  return agent::fail(agent::Code::cli_cannot_create,
                     fmt::format("cannot create `{}`: it is a link, to {}",
                                 file.string(),
                                 fs::read_symlink(file, error).string()),
                     "name the file itself, or remove the link");
}

// The permissions of the file that is replaced, else what the umask allows.
mode_t mode_for(const std::string& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) == 0) {
    return status.st_mode & 07777;
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return k_mode & ~mask;
}

bool is_link(const fs::path& file) {
  struct stat status{};
  return ::lstat(file.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

fs::path folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return folder.empty() ? "." : folder;
}

// The number of this process's descriptor that a name like /dev/stdout or /dev/fd/3 stands for.
// Opening the name would open the file behind it anew, at its start.
std::optional<int> descriptor_called(fs::path file) {
  constexpr int k_most_links = 8;
  std::error_code error;
  const fs::path all = fs::canonical("/proc/self/fd", error);
  for (int links = 0; !error && links < k_most_links && is_link(file); ++links) {
    if (fs::canonical(folder_of(file), error) == all) {
      const std::string name = file.filename().string();
      int number = -1;
      const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
      return bad == std::errc() && end == name.data() + name.size() ? std::optional(number)
                                                                    : std::nullopt;
    }
    file = folder_of(file) / fs::read_symlink(file, error);
  }
  return std::nullopt;
}

// A pipe has to have a reader before it can be opened: there for long enough that both may be
// started together.
Descriptor open_to_write(const std::string& file, agent::WritePatience* patience) {
  using Steady = std::chrono::steady_clock;
  constexpr std::chrono::seconds k_for_a_reader{10};
  agent::WritePatience endless({}, {});
  agent::WritePatience& waits = patience != nullptr ? *patience : endless;
  const auto deadline = Steady::now() + k_for_a_reader;
  Descriptor opened;
  do {
    opened =
        Descriptor(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK));
  } while (!opened && errno == ENXIO && Steady::now() < deadline && !waits.is_stopped() &&
           waits.wait_a_moment());
  return opened;
}

// What is no regular file, and is not to become one: empty where the path leads to one, or to
// nothing yet.
Result<Descriptor> open_stream(const std::string& file, agent::WritePatience* patience) {
  if (const auto number = descriptor_called(file)) {
    Descriptor copy(::fcntl(*number, F_DUPFD_CLOEXEC, 3));
    return copy ? Result<Descriptor>(std::move(copy)) : refuse_file(file, errno);
  }
  TRY(check_stays_inside(file));
  struct stat status{};
  if (::lstat(file.c_str(), &status) != 0 || S_ISREG(status.st_mode)) {
    return Descriptor();
  }
  if (S_ISLNK(status.st_mode)) {
    return refuse_link(file);
  }
  Descriptor opened = open_to_write(file, patience);
  if (!opened && errno == ENXIO) {
    return agent::fail(agent::Code::cli_cannot_create,
                       fmt::format("cannot write to `{}`: nobody reads it", file),
                       "Start its reader first, or at most 10 s later.");
  }
  return opened ? Result<Descriptor>(std::move(opened)) : refuse_file(file, errno);
}

std::string path_of(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

// A file that no other process can reach by a name; empty where the file system has no such, or it
// could not be named later.
Descriptor open_nameless(int folder) {
  Descriptor opened(::openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (opened && ::access(path_of(opened.get()).c_str(), F_OK) != 0) {
    opened = {};
  }
  return opened;
}

}  // namespace

std::unique_ptr<Output> Output::to_descriptor(int descriptor,
                                              std::string name,
                                              agent::WritePatience* patience) {
  std::unique_ptr<Output> output(new Output({}, std::move(name), patience));
  output->descriptor_ = descriptor;
  return output;
}

Result<std::unique_ptr<Output>> Output::to_file(const std::string& file,
                                                agent::WritePatience* patience) {
  TRY_ASSIGN(Descriptor stream, open_stream(file, patience));
  if (stream) {
    return std::unique_ptr<Output>(new Output(std::move(stream), file, patience));
  }
  Descriptor folder(::open(folder_of(file).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string temporary;
  Descriptor beside = open_nameless(folder.get());
  if (!beside) {
    temporary = file + ".XXXXXX";
    beside = Descriptor(::mkostemp(temporary.data(), O_CLOEXEC));
  }
  if (!beside) {
    return refuse_file(file, errno);
  }
  ::fchmod(beside.get(), mode_for(file));
  std::unique_ptr<Output> output(new Output(std::move(beside), file, patience));
  output->folder_ = std::move(folder);
  output->folder_name_ = fs::absolute(folder_of(file));  // the working folder may become another
  output->temporary_ = std::move(temporary);
  return output;
}

Result<std::unique_ptr<Output>> Output::append_to(const std::string& file,
                                                  agent::WritePatience* patience) {
  TRY_ASSIGN(Descriptor opened, open_stream(file, patience));
  if (!opened) {
    opened = Descriptor(
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, k_mode));
  }
  if (!opened) {
    return refuse_file(file, errno);
  }
  return std::unique_ptr<Output>(new Output(std::move(opened), file, patience));
}

Output::~Output() {
  if (!temporary_.empty()) {
    ::unlinkat(folder_.get(), fs::path(temporary_).filename().c_str(), 0);
  }
}

void Output::fail(std::string_view doing, int error) {
  reader_is_gone_ = error == EPIPE;
  failure_ =
      agent::Error{.code = agent::Code::storage_io,
                   .message = fmt::format("cannot {} {}: {}", doing, name_, std::strerror(error)),
                   .help = {}};
}

void Output::write(std::string_view bytes) {
  if (failure_ || is_given_up_) {
    return;
  }
  if (const int error = agent::write_all(descriptor_, bytes, patience_); error == ETIMEDOUT) {
    is_given_up_ = true;
  } else if (error != 0) {
    fail("write to", error);
  }
}

// What has no name yet gets one: a link cannot take another file's place, a rename can.
bool Output::give_name() {
  if (!temporary_.empty()) {
    return true;
  }
  constexpr int k_most_tries = 100;
  std::random_device random;
  for (int tries = 0; tries < k_most_tries; ++tries) {
    const std::string name = fmt::format("{}.{:06x}", name_, random() & 0xFFFFFFU);
    if (::linkat(AT_FDCWD,
                 path_of(descriptor_).c_str(),
                 folder_.get(),
                 fs::path(name).filename().c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return true;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return false;
}

// Nobody reads what is written where the name does not lead any more.
bool Output::leads_elsewhere() const {
  struct stat opened{};
  struct stat named{};
  return ::fstat(folder_.get(), &opened) != 0 || ::stat(folder_name_.c_str(), &named) != 0 ||
         opened.st_dev != named.st_dev || opened.st_ino != named.st_ino;
}

void Output::commit() {
  if (!folder_ || failure_) {
    return;
  }
  if (::fsync(descriptor_) != 0 || !give_name() ||
      ::renameat(folder_.get(),
                 fs::path(temporary_).filename().c_str(),
                 folder_.get(),
                 fs::path(name_).filename().c_str()) != 0) {
    fail("write", errno);
    return;
  }
  temporary_.clear();
  if (leads_elsewhere()) {
    std::error_code error;
    const fs::path folder = fs::read_symlink(path_of(folder_.get()), error);
    failure_ = agent::Error{
        .code = agent::Code::storage_io,
        .message = fmt::format("`{}` leads to another folder than at the start: what was written "
                               "is in `{}`",
                               name_,
                               (folder / fs::path(name_).filename()).string()),
        .help = "do not trust what `" + name_ + "` holds now: somebody else put it there"};
  }
}

Result<int> ending_of(const Output& output, int otherwise) {
  if (output.reader_is_gone()) {
    return 128 + SIGPIPE;
  }
  if (output.failure() != nullptr) {
    return agent::fail(*output.failure());
  }
  return otherwise;
}

std::optional<FileIdentity> identity_of(const std::string& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) == 0) {
    return S_ISREG(status.st_mode) ? std::optional(FileIdentity{status.st_dev, status.st_ino, {}})
                                   : std::nullopt;
  }
  if (::stat(folder_of(file).c_str(), &status) != 0) {
    return std::nullopt;
  }
  return FileIdentity{status.st_dev, status.st_ino, fs::path(file).filename().string()};
}

Result<void> check_stays_inside(const std::string& file, const fs::path& folder) {
  std::error_code error;
  const fs::path inside = fs::canonical(folder, error);
  const auto is_inside = [&](const fs::path& path) {
    return std::ranges::mismatch(inside, path).in1 == inside.end();
  };
  fs::path at = inside;
  for (const fs::path& part : fs::path(file).is_relative() ? fs::path(file).parent_path() : "") {
    const fs::path next = part == ".." ? at.parent_path() : part == "." ? at : at / part;
    const fs::path real = fs::weakly_canonical(next, error);
    if (error) {
      break;  // who opens it says what is wrong
    }
    if (is_inside(next) && !is_inside(real)) {
      return agent::fail(
          Code::cli_cannot_create,
          fmt::format("cannot create `{}`: `{}` is a link out of the {}folder, to {}",
                      file,
                      next.lexically_relative(inside).string(),
                      inside == fs::current_path(error) ? "working " : "agent's ",
                      real.string()),
          "remove the link if you do not know it, or name the folder itself");
    }
    at = real;
  }
  return {};
}

Result<void> check_is_no_link(const std::string& file) {
  if (is_link(file)) {
    return refuse_link(file);
  }
  return {};
}

}  // namespace cli
