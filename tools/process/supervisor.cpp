#include "tools/process/supervisor.h"

#include "tools/process/fd_passing.h"
#include "tools/process/shim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
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
using agent::Descriptor;
using agent::fail;
using agent::Result;

constexpr timeval k_answer_patience{.tv_sec = 10, .tv_usec = 0};
constexpr int k_zygote_patience_ms = 2'000;

std::unexpected<agent::Error> os_failure(std::string_view what, int error) {
  return fail(Code::os_failed, fmt::format("{}: {}", what, std::strerror(error)));
}

// Both ends above the standard three, which errand's caller may have left closed.
Result<std::pair<Descriptor, Descriptor>> socket_pair(int type) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os_failure("cannot create a socket pair for a tool", errno);
  }
  std::pair<Descriptor, Descriptor> low{Descriptor(ends[0]), Descriptor(ends[1])};
  if (ends[0] > 2 && ends[1] > 2) {
    return low;
  }
  std::pair<Descriptor, Descriptor> high{Descriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, 3)),
                                         Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3))};
  if (!high.first || !high.second) {
    return os_failure("cannot create a socket pair for a tool", errno);
  }
  return high;
}

// A request as it travels, or an error that names what cannot.
Result<std::string> encode(const Program& program) {
  std::string body(sizeof(SpawnHeader), '\0');
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
                                     : "an argument of a program contains a NUL byte");
  }
  const std::size_t bytes = body.size() - sizeof(SpawnHeader);
  if (bytes > k_max_request) {
    return fail(Code::os_failed,
                fmt::format("arguments and environment of a program are {} bytes; the most that "
                            "can be passed is {}",
                            bytes,
                            k_max_request),
                "pass large data in a file or on stdin");
  }
  const SpawnHeader header{.bytes = static_cast<std::uint32_t>(bytes),
                           .arguments = static_cast<std::uint32_t>(program.argv.size()),
                           .variables = static_cast<std::uint32_t>(program.environment.size())};
  std::memcpy(body.data(), &header, sizeof header);
  return body;
}

// Has a new shim take its profile on.
Result<void> enforce(Shim& shim) {
  const auto size = static_cast<ConfinementHeader>(shim.profile.size());
  std::string text(sizeof size, '\0');
  std::memcpy(text.data(), &size, sizeof size);
  text += shim.profile;
  Readiness ready;
  int egress_proxy = -1;
  int count = 0;
  const int control = shim.control.get();
  const bool is_sent = send_with_descriptors(control, text, {});
  const ssize_t got =
      receive_with_descriptors(control, &ready, sizeof ready, &egress_proxy, 1, count);
  if (got == sizeof ready && ready.mark != k_ready) {  // the beginning of a Report
    static_assert(offsetof(Report, value) == offsetof(Readiness, layers));
    return os_failure("cannot fork the process that guards a tool", static_cast<int>(ready.layers));
  }
  if (!is_sent || got != sizeof ready) {
    return fail(Code::sandbox_setup, "the process that guards a tool could not set up its sandbox");
  }
  shim.egress_proxy = Descriptor(egress_proxy);
  shim.layers = sandbox::LayerSet(ready.layers);
  return {};
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

void Running::order(char what) {
  has_ordered_ = true;
  ::send(shim_.control.get(), &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Running::terminate() {
  order(static_cast<char>(Order::terminate));
}

void Running::kill() {
  order(static_cast<char>(Order::kill));
}

Result<std::optional<Report>> Running::report() {
  Report report;
  const ssize_t got = ::recv(shim_.control.get(), &report, sizeof report, MSG_DONTWAIT);
  if (got == sizeof report) {
    // An order may have come too late, and must not meet the next program.
    if (!has_ordered_ && report.survivors == 0) {
      supervisor_->give_back(std::move(shim_));
    }
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
  ::setsockopt(
      ends.first.get(), SOL_SOCKET, SO_SNDTIMEO, &k_answer_patience, sizeof k_answer_patience);
  return std::unique_ptr<Supervisor>(new Supervisor(std::move(ends.first), zygote));
}

void Supervisor::dismiss() {
  const std::scoped_lock lock(mutex_);  // a program may just be ending
  idle_.clear();
  socket_.reset();
}

Supervisor::~Supervisor() {
  dismiss();
  wait_for_exit(zygote_, k_zygote_patience_ms);
}

Result<Shim> Supervisor::new_shim(const std::string& profile) {
  TRY_ASSIGN(auto ends, socket_pair(SOCK_STREAM));
  ::setsockopt(
      ends.first.get(), SOL_SOCKET, SO_SNDTIMEO, &k_answer_patience, sizeof k_answer_patience);
  ::setsockopt(
      ends.first.get(), SOL_SOCKET, SO_RCVTIMEO, &k_answer_patience, sizeof k_answer_patience);
  const std::array theirs{ends.second.get()};
  const char birth = static_cast<char>(profile.empty() ? Birth::plain : Birth::confined);
  if (!send_with_descriptors(socket_.get(), std::string_view(&birth, 1), theirs)) {
    return os_failure("cannot reach the process that starts tools", errno);
  }
  ends.second.reset();  // or nobody would see the shim die
  Shim shim{.control = std::move(ends.first), .profile = profile};
  if (!profile.empty()) {
    TRY(enforce(shim));
  }
  return shim;
}

std::optional<Shim> Supervisor::idle_shim(const std::string& profile) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(idle_, profile, &Shim::profile);
  if (found == idle_.end()) {
    return std::nullopt;
  }
  std::optional shim = std::move(*found);
  idle_.erase(found);
  return shim;
}

void Supervisor::retire(const std::string& profile) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(idle_, [&](const Shim& shim) { return shim.profile == profile; });
}

void Supervisor::give_back(Shim shim) {
  const std::scoped_lock lock(mutex_);
  if (socket_) {
    idle_.push_back(std::move(shim));
  }
}

Result<sandbox::LayerSet> Supervisor::try_profile(const std::string& profile) {
  TRY_ASSIGN(Shim shim, new_shim(profile));
  const sandbox::LayerSet layers = shim.layers;
  give_back(std::move(shim));
  return layers;
}

Result<Running> Supervisor::spawn(const Program& program, int in, int out, int err) {
  TRY_ASSIGN(const std::string request, encode(program));
  const std::array standard{in, out, err};
  if (auto shim = idle_shim(program.profile);
      shim && send_with_descriptors(shim->control.get(), request, standard)) {
    return Running(*this, *std::move(shim));
  }
  TRY_ASSIGN(Shim shim, new_shim(program.profile));
  if (!shim.layers.has_all(program.layers)) {
    return fail(Code::os_failed, "the sandbox of this call lacks a layer that the run has had");
  }
  // EPIPE is no failure of its own: who could not take the request says why in the report.
  if (!send_with_descriptors(shim.control.get(), request, standard) && errno != EPIPE &&
      errno != ECONNRESET) {
    return os_failure("cannot hand a program to the process that starts it", errno);
  }
  return Running(*this, std::move(shim));
}

}  // namespace tools
