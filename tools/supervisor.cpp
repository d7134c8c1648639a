#include "tools/supervisor.h"

#include "tools/guard.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;

constexpr timeval k_send_patience{.tv_sec = 10, .tv_usec = 0};
constexpr int k_zygote_patience_ms = 2'000;

std::unexpected<agent::Error> os_failure(std::string_view what, int error) {
  return fail(Code::os_failed, fmt::format("{}: {}", what, std::strerror(error)));
}

// Both ends above the standard three, which errand's caller may have left closed.
Result<std::pair<Descriptor, Descriptor>> socket_pair(int type) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os_failure("cannot make a socket pair for a tool", errno);
  }
  std::pair<Descriptor, Descriptor> low{Descriptor(ends[0]), Descriptor(ends[1])};
  if (ends[0] > 2 && ends[1] > 2) {
    return low;
  }
  std::pair<Descriptor, Descriptor> high{Descriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, 3)),
                                         Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3))};
  if (!high.first || !high.second) {
    return os_failure("cannot make a socket pair for a tool", errno);
  }
  return high;
}

// False where the other side is gone or does not read (errno says which).
bool send_with_descriptors(int socket, std::string_view data, std::span<const int> descriptors) {
  iovec part{.iov_base = const_cast<char*>(data.data()), .iov_len = data.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(data.size());
}

bool send_all(int socket, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    data.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
  }
  return true;
}

// The strings of a request as they travel, or an error that names what cannot.
Result<std::string> encode(const Program& program) {
  std::string body;
  const auto append = [&](const std::string& text) {
    body += text;
    body += '\0';
    return text.find('\0') == std::string::npos;
  };
  bool is_clean = append(program.cwd);
  for (const std::string& argument : program.argv) {
    is_clean = append(argument) && is_clean;
  }
  for (const std::string& variable : program.environment) {
    is_clean = append(variable) && is_clean;
  }
  if (program.argv.empty() || !is_clean) {
    return fail(Code::os_failed,
                program.argv.empty() ? "there is no program to run"
                                     : "an argument of a program holds a NUL byte");
  }
  if (body.size() > k_max_request) {
    return fail(Code::os_failed,
                fmt::format("arguments and environment of a program are {} bytes; the most that "
                            "can be passed is {}",
                            body.size(),
                            k_max_request),
                "pass large data in a file or on stdin");
  }
  return body;
}

bool wait_for_exit(pid_t pid, int patience_ms) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (handle) {
    pollfd event{.fd = handle.get(), .events = POLLIN, .revents = 0};
    while (::poll(&event, 1, patience_ms) < 0 && errno == EINTR) {
    }
  }
  return ::waitpid(pid, nullptr, WNOHANG) == pid;
}

}  // namespace

void Running::terminate() {
  const char order = static_cast<char>(Order::terminate);
  ::send(control_.get(), &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Running::kill() {
  const char order = static_cast<char>(Order::kill);
  ::send(control_.get(), &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<std::optional<Report>> Running::report() {
  Report report;
  const ssize_t got = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (got == sizeof report) {
    return report;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return std::nullopt;
  }
  return fail(Code::os_failed, "the process that guards a tool was killed");
}

Result<std::unique_ptr<Supervisor>> Supervisor::start() {
  TRY_ASSIGN(auto ends, socket_pair(SOCK_SEQPACKET));
  // Held back until the zygote ignores them: a Ctrl-C at this moment is errand's alone.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t zygote = ::fork();
  if (zygote == 0) {
    ends.first.reset();
    run_zygote(ends.second.get());
  }
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (zygote < 0) {
    return os_failure("cannot fork the process that starts tools", error);
  }
  ::setsockopt(ends.first.get(), SOL_SOCKET, SO_SNDTIMEO, &k_send_patience, sizeof k_send_patience);
  return std::unique_ptr<Supervisor>(new Supervisor(std::move(ends.first), zygote));
}

Supervisor::~Supervisor() {
  socket_.reset();
  wait_for_exit(zygote_, k_zygote_patience_ms);
}

Result<Running> Supervisor::spawn(const Program& program, int in, int out, int err) {
  TRY_ASSIGN(const std::string body, encode(program));
  TRY_ASSIGN(auto ends, socket_pair(SOCK_STREAM));
  const int control = ends.first.get();
  ::setsockopt(control, SOL_SOCKET, SO_SNDTIMEO, &k_send_patience, sizeof k_send_patience);
  const std::array theirs{ends.second.get()};
  if (!send_with_descriptors(socket_.get(), "S", theirs)) {
    return os_failure("cannot reach the process that starts tools", errno);
  }
  ends.second.reset();
  const SpawnHeader header{.bytes = static_cast<std::uint32_t>(body.size()),
                           .arguments = static_cast<std::uint32_t>(program.argv.size()),
                           .variables = static_cast<std::uint32_t>(program.environment.size())};
  std::array<char, sizeof header> head{};
  std::memcpy(head.data(), &header, sizeof header);
  const std::array standard{in, out, err};
  const bool is_sent =
      send_with_descriptors(control, std::string_view(head.data(), head.size()), standard) &&
      send_all(control, body);
  // EPIPE is no failure of its own: who could not take the request says why in the report.
  if (!is_sent && errno != EPIPE && errno != ECONNRESET) {
    return os_failure("cannot hand a program to the process that starts it", errno);
  }
  return Running(std::move(ends.first));
}

}  // namespace tools
