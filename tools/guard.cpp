#include "tools/guard.h"

#include "tools/process_table.h"

#include <climits>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tools {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::string_view k_default_path = "/usr/local/bin:/usr/bin:/bin";
constexpr std::chrono::seconds k_patience{5};  // with processes that SIGKILL does not end
constexpr int k_kill_again_ms = 10;
constexpr int k_failure = 3;  // where the program's process keeps the pipe that says why not

// Everything the program's process needs, made before the fork: after it nothing is allocated.
struct Request {
  std::string body;
  const char* folder = nullptr;
  std::vector<char*> arguments;         // ends with null
  std::vector<char*> variables;         // ends with null
  std::vector<std::string> candidates;  // paths to try
  std::array<int, 3> standard{-1, -1, -1};
};

bool receive_exactly(int socket, char* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::recv(socket, data + done, size - done, 0);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return false;
    }
    done += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return true;
}

// False where the counts and the strings do not fit each other.
bool split_body(Request& request, const SpawnHeader& header) {
  std::vector<char*> strings;
  for (std::size_t start = 0; start < request.body.size();) {
    strings.push_back(request.body.data() + start);
    const std::size_t end = request.body.find('\0', start);
    if (end == std::string::npos) {
      return false;
    }
    start = end + 1;
  }
  if (header.arguments == 0 || strings.size() != 1u + header.arguments + header.variables) {
    return false;
  }
  request.folder = strings[0];
  const auto first_variable = strings.begin() + 1 + header.arguments;
  request.arguments.assign(strings.begin() + 1, first_variable);
  request.arguments.push_back(nullptr);
  request.variables.assign(first_variable, strings.end());
  request.variables.push_back(nullptr);
  return true;
}

std::string_view search_path(const Request& request) {
  for (const char* variable : request.variables) {
    if (variable != nullptr && std::strncmp(variable, "PATH=", 5) == 0) {
      return variable + 5;
    }
  }
  return k_default_path;
}

// As execvp(3), but with the PATH of the program's own environment, and never through a shell.
void find_candidates(Request& request) {
  const std::string name = request.arguments[0];
  if (name.empty() || name.find('/') != std::string::npos) {
    request.candidates.push_back(name);
    return;
  }
  std::string_view path = search_path(request);
  for (;;) {
    const std::size_t colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    request.candidates.push_back((folder.empty() ? "." : folder) + "/" + name);
    if (colon == std::string_view::npos) {
      return;
    }
    path.remove_prefix(colon + 1);
  }
}

// 0, or the errno that explains why there is no request to run; -1 where errand went away.
int receive_request(int control, Request& request) {
  SpawnHeader header;
  int count = 0;
  const ssize_t got =
      receive_with_descriptors(control, &header, sizeof header, request.standard.data(), 3, count);
  if (got <= 0) {
    return -1;
  }
  if (got != sizeof header || count != 3 || header.bytes > k_max_request) {
    return EBADMSG;
  }
  request.body.resize(header.bytes);
  if (!receive_exactly(control, request.body.data(), request.body.size())) {
    return -1;
  }
  if (!split_body(request, header)) {
    return EBADMSG;
  }
  find_candidates(request);
  return 0;
}

// From here to the exec: async-signal-safe calls only.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) {
      ::signal(number, SIG_DFL);
    }
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void give_up(Report::Kind kind, int error) {
  const Report report{.kind = kind, .value = error};
  [[maybe_unused]] const ssize_t done = ::write(k_failure, &report, sizeof report);
  ::_exit(127);
}

[[noreturn]] void try_candidates(const Request& request) {
  int error = ENOENT;
  for (const std::string& candidate : request.candidates) {
    ::execve(candidate.c_str(), request.arguments.data(), request.variables.data());
    if (errno == EACCES) {
      error = EACCES;  // kept: a later folder of the PATH may still have it
    } else if (errno != ENOENT && errno != ENOTDIR) {
      give_up(Report::Kind::no_exec, errno);
    }
  }
  give_up(Report::Kind::no_exec, error);
}

[[noreturn]] void become_program(const Request& request, int failure, pid_t guard) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) {
    ::_exit(127);
  }
  // All of them are above 2, which the zygote keeps taken.
  for (int number = 0; number < 3; ++number) {
    ::dup2(request.standard[static_cast<std::size_t>(number)], number);
  }
  if (failure != k_failure) {
    ::dup3(failure, k_failure, O_CLOEXEC);
  }
  close_from(k_failure + 1);
  reset_signals();
  if (::chdir(request.folder) != 0) {
    give_up(Report::Kind::no_folder, errno);
  }
  try_candidates(request);
}

class Guard {
 public:
  explicit Guard(int control) : control_(control) {}
  [[noreturn]] void run();

 private:
  void start(const Request& request);
  void watch();
  void hear_orders();
  void terminate();
  void start_killing();
  void kill_children();
  void reap();
  int poll_timeout() const { return is_killing_ ? k_kill_again_ms : -1; }
  bool is_out_of_patience() const { return is_killing_ && Steady::now() > killing_ends_; }
  Report result() const;
  [[noreturn]] void finish(const Report& report) const;

  int control_;
  int signals_ = -1;
  int failure_ = -1;  // a Report, where the program could not be started
  pid_t program_ = -1;
  int status_ = 0;
  bool has_ended_ = false;  // the program itself
  bool is_alone_ = false;   // nothing is left
  bool is_terminating_ = false;
  bool is_killing_ = false;
  Steady::time_point killing_ends_;
};

void Guard::run() {
  ::setsid();
  ::prctl(PR_SET_NAME, "errand-guard");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Request request;
  const int error = receive_request(control_, request);
  if (error != 0) {
    finish({.kind = Report::Kind::no_process, .value = error});
  }
  start(request);
  for (const int descriptor : request.standard) {
    ::close(descriptor);
  }
  watch();
  finish(result());
}

void Guard::start(const Request& request) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  std::array<int, 2> failure{-1, -1};
  if (signals_ < 0 || ::pipe2(failure.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    finish({.kind = Report::Kind::no_process, .value = errno});
  }
  const pid_t self = ::getpid();
  program_ = ::fork();
  if (program_ == 0) {
    become_program(request, failure[1], self);
  }
  if (program_ < 0) {
    finish({.kind = Report::Kind::no_process, .value = errno});
  }
  ::close(failure[1]);
  failure_ = failure[0];
}

void Guard::watch() {
  for (;;) {
    reap();
    if (has_ended_ && !is_alone_ && !is_terminating_) {
      start_killing();
    }
    if (is_alone_ || is_out_of_patience()) {
      return;
    }
    if (is_killing_) {
      kill_children();
    }
    std::array<pollfd, 2> events{{{.fd = control_, .events = POLLIN, .revents = 0},
                                  {.fd = signals_, .events = POLLIN, .revents = 0}}};
    if (::poll(events.data(), events.size(), poll_timeout()) > 0 && events[0].revents != 0) {
      hear_orders();
    }
  }
}

void Guard::hear_orders() {
  char order = 0;
  const ssize_t got = ::recv(control_, &order, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {  // errand is gone, or has let go of the call
    ::close(control_);
    control_ = -1;
    start_killing();
  } else if (order == static_cast<char>(Order::terminate)) {
    terminate();
  } else {
    start_killing();
  }
}

void Guard::terminate() {
  is_terminating_ = true;
  for (const pid_t pid : descendants_of_this_process()) {
    ::kill(pid, SIGTERM);
    ::kill(pid, SIGCONT);  // what is stopped would hear of it only then
  }
}

void Guard::start_killing() {
  if (!is_killing_) {
    is_killing_ = true;
    killing_ends_ = Steady::now() + k_patience;
  }
}

// Only the guard's own children: their numbers cannot be used again before the guard reaps them.
// What they leave behind becomes its child, and is met in the next round.
void Guard::kill_children() {
  if (!has_ended_) {
    ::kill(program_, SIGKILL);
  }
  for (const pid_t pid : children_of_this_process()) {
    ::kill(pid, SIGKILL);
  }
}

void Guard::reap() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) > 0) {
  }
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      is_alone_ = pid < 0;
      return;
    }
    if (pid == program_) {
      status_ = status;
      has_ended_ = true;
    }
  }
}

Report Guard::result() const {
  Report report;
  if (::read(failure_, &report, sizeof report) != sizeof report) {
    const bool exited = WIFEXITED(status_);
    report = {.kind = exited ? Report::Kind::exited : Report::Kind::signalled,
              .value = exited ? WEXITSTATUS(status_) : WTERMSIG(status_)};
  }
  if (!has_ended_) {
    report = {.kind = Report::Kind::signalled, .value = SIGKILL};
  }
  report.survivors = is_alone_ ? 0 : static_cast<int>(children_of_this_process().size());
  return report;
}

void Guard::finish(const Report& report) const {
  if (control_ >= 0) {
    ::send(control_, &report, sizeof report, MSG_NOSIGNAL);
  }
  ::_exit(0);
}

}  // namespace

void run_guard(int control) {
  Guard(control).run();
}

}  // namespace tools
