#include "cli/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cli {
namespace {

constexpr mode_t k_mode = 0666;

// Only what is a regular file, or is not there yet, can be replaced by a rename.
bool can_be_replaced(const std::string& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) != 0 || S_ISREG(status.st_mode);
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

}  // namespace

std::unique_ptr<Output> Output::to_descriptor(int descriptor, std::string name) {
  return std::unique_ptr<Output>(new Output(descriptor, std::move(name)));
}

agent::Result<std::unique_ptr<Output>> Output::to_file(const std::string& file) {
  const auto refuse = [&](int error) {
    return agent::fail(agent::Code::cli_cannot_create,
                       fmt::format("cannot create `{}`: {}", file, std::strerror(error)),
                       "name a file in a folder that exists and may be written");
  };
  if (!can_be_replaced(file)) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) {
      return refuse(errno);
    }
    std::unique_ptr<Output> output(new Output(descriptor, file));
    output->owns_descriptor_ = true;
    return output;
  }
  std::string temporary = file + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return refuse(errno);
  }
  ::fchmod(descriptor, mode_for(file));
  std::unique_ptr<Output> output(new Output(descriptor, file));
  output->owns_descriptor_ = true;
  output->temporary_ = std::move(temporary);
  return output;
}

Output::~Output() {
  if (owns_descriptor_) {
    ::close(descriptor_);
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
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
  while (!failure_ && !bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {  // somebody made the pipe non-blocking
      pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      fail("write to", errno);
    }
  }
}

void Output::commit() {
  if (temporary_.empty() || failure_) {
    return;
  }
  if (::fsync(descriptor_) != 0 || ::rename(temporary_.c_str(), name_.c_str()) != 0) {
    fail("write", errno);
    return;
  }
  temporary_.clear();
}

agent::Result<int> ending_of(const Output& output, int otherwise) {
  if (output.reader_is_gone()) {
    return 128 + SIGPIPE;
  }
  if (output.failure() != nullptr) {
    return agent::fail(*output.failure());
  }
  return otherwise;
}

}  // namespace cli
