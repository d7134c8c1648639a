#include "tools/process/fd_passing.h"
#include "tools/process/process_table.h"
#include "tools/process/shim.h"
#include "tools/sandbox/control_group.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tools {

namespace {

constexpr int k_socket = 3;        // where the zygote keeps its end
constexpr int k_adopted_ms = 100;  // how often a child that will not die is killed again

class Zygote {
 public:
  Zygote() : signals_(watch_children()) {}
  [[noreturn]] void run();

 private:
  static int watch_children();
  void accept();
  void start_shim(int control, Birth birth);
  void reap();
  void kill_adopted();
  void remove_groups();

  int signals_;
  std::vector<pid_t> shims_;
  std::vector<pid_t> dead_;   // shims whose control groups may still be there
  bool is_open_ = true;       // errand is there
  bool has_adopted_ = false;  // children that a shim left behind
};

int Zygote::watch_children() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void Zygote::run() {
  while (is_open_ || !shims_.empty() || has_adopted_) {
    std::array<pollfd, 2> events{{{.fd = is_open_ ? k_socket : -1, .events = POLLIN, .revents = 0},
                                  {.fd = signals_, .events = POLLIN, .revents = 0}}};
    if (::poll(events.data(), events.size(), has_adopted_ ? k_adopted_ms : -1) < 0) {
      continue;
    }
    if (events[0].revents != 0) {
      accept();
    }
    reap();
  }
  ::_exit(0);
}

void Zygote::accept() {
  char byte = 0;
  int control = -1;
  int count = 0;
  const ssize_t got = receive_with_descriptors(k_socket, &byte, 1, &control, 1, count);
  if (got <= 0) {
    is_open_ = false;
    ::close(k_socket);
  } else if (count == 1) {
    start_shim(control, static_cast<Birth>(byte));
    ::close(control);
  }
}

void Zygote::start_shim(int control, Birth birth) {
  const pid_t shim = ::fork();
  if (shim == 0) {
    ::close(k_socket);  // or errand would not see the zygote die
    ::close(signals_);
    run_shim(control, birth);
  }
  if (shim > 0) {
    shims_.push_back(shim);
    return;
  }
  const Report report{.kind = Report::Kind::no_process, .value = errno};
  ::send(control, &report, sizeof report, MSG_NOSIGNAL);
}

void Zygote::reap() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) > 0) {
  }
  for (;;) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid <= 0) {
      const bool has_children = pid == 0;
      has_adopted_ = false;
      if (has_children) {
        kill_adopted();
      }
      if (!has_adopted_) {
        remove_groups();
      }
      return;
    }
    if (std::erase(shims_, pid) > 0) {
      dead_.push_back(pid);
    }
  }
}

// A shim that was killed itself (by its own program, by the kernel) leaves its tree to the zygote.
void Zygote::kill_adopted() {
  for (const pid_t child : children_of_this_process()) {
    if (std::find(shims_.begin(), shims_.end(), child) == shims_.end()) {
      ::kill(child, SIGKILL);
      has_adopted_ = true;
    }
  }
}

// A shim does that itself, but not one that was killed.
void Zygote::remove_groups() {
  for (const pid_t shim : std::exchange(dead_, {})) {
    sandbox::remove_group_of(shim);
  }
}

// Nothing of errand's may be held open: its pipes would not end, its terminal would not be free.
void let_go_of_everything(int socket) {
  const int null = ::open("/dev/null", O_RDWR);
  for (int number = 0; number < k_socket; ++number) {
    ::dup2(null, number);
  }
  ::dup2(socket, k_socket);
  close_from(k_socket + 1);
  if (::chdir("/") != 0) {
    ::_exit(1);
  }
  malloc_trim(0);
}

void leave_the_terminal() {
  ::setsid();
  ::signal(SIGCHLD, SIG_DFL);  // ignored, it would swallow every exit status
  for (const int number : {SIGINT,
                           SIGTERM,
                           SIGHUP,
                           SIGPIPE,
                           SIGQUIT,
                           SIGTSTP,
                           SIGTTIN,
                           SIGTTOU,
                           SIGUSR1,
                           SIGUSR2,
                           SIGALRM}) {
    ::signal(number, SIG_IGN);
  }
}

}  // namespace

void run_zygote(int socket) {
  leave_the_terminal();
  let_go_of_everything(socket);
  ::prctl(PR_SET_NAME, "tool-zygote");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Zygote().run();
}

}  // namespace tools
