#include "tools/process/shim.h"

#include "tools/process/fd_passing.h"
#include "tools/process/process_table.h"
#include "tools/sandbox/enforcer.h"

#include <climits>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <span>
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
constexpr std::chrono::seconds k_end_patience{5};  // with processes that SIGKILL does not end
constexpr int k_kill_again_ms = 10;

// Everything the program's process needs, made before it is there: in it nothing is allocated.
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

// What the program's process is given, and where it says why it could not become the program. The
// shim stands still until then and shares its memory with it: no page table is copied.
struct Start {
  const Request& request;
  const sandbox::Enforcer* enforcer;  // null: no sandbox
  std::span<const int> ignored;       // signals
  pid_t shim;
  std::optional<Report> failure;
};

// An exec resets all signals but these.
std::vector<int> ignored_signals() {
  std::vector<int> ignored;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      ignored.push_back(number);
    }
  }
  return ignored;
}

// From here to the exec: async-signal-safe calls only.
void reset_signals(std::span<const int> ignored) {
  for (const int number : ignored) {
    ::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The errno that says why none of them could be run.
int try_candidates(const Request& request) {
  int error = ENOENT;
  for (const std::string& candidate : request.candidates) {
    ::execve(candidate.c_str(), request.arguments.data(), request.variables.data());
    if (errno == EACCES) {
      error = EACCES;  // kept: a later folder of the PATH may still have it
    } else if (errno != ENOENT && errno != ENOTDIR) {
      return errno;
    }
  }
  return error;
}

int become_program(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.shim) {
    return 127;
  }
  // All of them are above 2, which the zygote keeps taken.
  for (int number = 0; number < 3; ++number) {
    ::dup2(start.request.standard[static_cast<std::size_t>(number)], number);
  }
  const int refused = start.enforcer != nullptr ? start.enforcer->put_on() : 0;
  close_from(3);
  reset_signals(start.ignored);
  const bool is_there = ::chdir(start.request.folder) == 0;
  const int no_folder = errno;
  if (refused != 0) {
    start.failure = {.kind = Report::Kind::no_sandbox, .value = refused};
  } else if (!is_there) {
    start.failure = {.kind = Report::Kind::no_folder, .value = no_folder};
  } else {
    start.failure = {.kind = Report::Kind::no_exec, .value = try_candidates(start.request)};
  }
  return 127;
}

// Its process id, or -1 (errno says why not).
pid_t start_process(Start& start) {
  constexpr std::size_t k_stack = 64u << 10;
  const auto stack = std::make_unique<std::byte[]>(k_stack);
  return ::clone(become_program, &stack[k_stack], CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
}

// One program, until nothing of it is left.
class Watch {
 public:
  Watch(int control, int signals, const sandbox::Enforcer* enforcer, std::span<const int> ignored)
      : control_(control), signals_(signals), enforcer_(enforcer), ignored_(ignored) {}
  bool run();  // false where the shim has to end with it

 private:
  void start(const Request& request);
  void watch();
  void hear_orders();
  void terminate();
  void start_killing();
  void kill_children();
  std::uint64_t shortages() const { return enforcer_ != nullptr ? enforcer_->shortages() : 0; }
  void reap();
  int poll_timeout() const { return is_killing_ ? k_kill_again_ms : -1; }
  bool is_out_of_patience() const { return is_killing_ && Steady::now() > killing_ends_; }
  Report result() const;
  bool answer(const Report& report) const;

  int control_;
  int signals_;
  const sandbox::Enforcer* enforcer_;
  std::span<const int> ignored_;   // signals
  std::optional<Report> failure_;  // where the program could not be started
  pid_t program_ = -1;
  int status_ = 0;
  std::uint64_t shortages_before_ = 0;
  bool has_ended_ = false;  // the program itself
  bool is_alone_ = false;   // nothing is left
  bool is_open_ = true;     // errand listens
  bool is_terminating_ = false;
  bool is_killing_ = false;
  Steady::time_point killing_ends_;
};

bool Watch::run() {
  Request request;
  const int error = receive_request(control_, request);
  if (error != 0) {
    answer({.kind = Report::Kind::no_process, .value = error});
    return false;
  }
  start(request);
  for (const int descriptor : request.standard) {
    ::close(descriptor);
  }
  if (program_ > 0) {
    watch();
  }
  return answer(result()) && is_alone_;
}

void Watch::start(const Request& request) {
  shortages_before_ = shortages();
  Start start{.request = request,
              .enforcer = enforcer_,
              .ignored = ignored_,
              .shim = ::getpid(),
              .failure = std::nullopt};
  program_ = start_process(start);
  failure_ =
      program_ < 0 ? Report{.kind = Report::Kind::no_process, .value = errno} : start.failure;
}

void Watch::watch() {
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
    std::array<pollfd, 2> events{{{.fd = is_open_ ? control_ : -1, .events = POLLIN, .revents = 0},
                                  {.fd = signals_, .events = POLLIN, .revents = 0}}};
    if (::poll(events.data(), events.size(), poll_timeout()) > 0 && events[0].revents != 0) {
      hear_orders();
    }
  }
}

void Watch::hear_orders() {
  char order = 0;
  const ssize_t got = ::recv(control_, &order, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {  // errand is gone, or has let go of the call
    is_open_ = false;
    start_killing();
  } else if (order == static_cast<char>(Order::terminate)) {
    terminate();
  } else {
    start_killing();
  }
}

void Watch::terminate() {
  is_terminating_ = true;
  for (const pid_t pid : descendants_of_this_process()) {
    ::kill(pid, SIGTERM);
    ::kill(pid, SIGCONT);  // what is stopped would hear of it only then
  }
}

void Watch::start_killing() {
  if (!is_killing_) {
    is_killing_ = true;
    killing_ends_ = Steady::now() + k_end_patience;
  }
}

// Only the shim's own children: their numbers cannot be used again before the shim reaps them.
// What they leave behind becomes its child, and is met in the next round.
void Watch::kill_children() {
  if (enforcer_ != nullptr) {
    enforcer_->kill_all();
  }
  if (!has_ended_) {
    ::kill(program_, SIGKILL);
  }
  for (const pid_t pid : children_of_this_process()) {
    ::kill(pid, SIGKILL);
  }
}

void Watch::reap() {
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

Report Watch::result() const {
  const bool exited = WIFEXITED(status_);
  Report report{.kind = exited ? Report::Kind::exited : Report::Kind::signalled,
                .value = exited ? WEXITSTATUS(status_) : WTERMSIG(status_)};
  if (failure_) {
    report = *failure_;
  } else if (!has_ended_) {
    report = {.kind = Report::Kind::signalled, .value = SIGKILL};
  }
  report.is_out_of_memory =
      report.kind == Report::Kind::signalled && shortages() > shortages_before_;
  report.have_locks_held = enforcer_ != nullptr && enforcer_->have_locks_held();
  report.survivors = is_alone_ ? 0 : static_cast<int>(children_of_this_process().size());
  return report;
}

bool Watch::answer(const Report& report) const {
  return is_open_ && ::send(control_, &report, sizeof report, MSG_NOSIGNAL) == sizeof report;
}

// Its signals, as a descriptor.
int become_shim() {
  ::setsid();
  ::prctl(PR_SET_NAME, "tool-shim");  // what `pkill -9 errand` leaves, to end the rest
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Takes on what errand describes. Empty where errand went away.
std::unique_ptr<sandbox::Enforcer> enforce_profile(int control) {
  ConfinementHeader size = 0;
  if (!receive_exactly(control, reinterpret_cast<char*>(&size), sizeof size) ||
      size > k_max_request) {
    return nullptr;
  }
  std::string text(size, '\0');
  const auto profile =
      receive_exactly(control, text.data(), text.size()) ? sandbox::decode(text) : std::nullopt;
  if (!profile) {
    return nullptr;
  }
  auto enforcer = std::make_unique<sandbox::Enforcer>(*profile);
  const Readiness ready{.layers = enforcer->layers().bits()};
  const int egress_proxy = enforcer->egress_proxy();
  const bool is_heard =
      send_with_descriptors(control,
                            std::string_view(reinterpret_cast<const char*>(&ready), sizeof ready),
                            std::span(&egress_proxy, egress_proxy >= 0 ? 1 : 0));
  return is_heard ? std::move(enforcer) : nullptr;
}

}  // namespace

void run_shim(int control, Birth birth) {
  const int signals = become_shim();
  const bool is_confined = birth == Birth::confined;
  auto enforcer = is_confined ? enforce_profile(control) : nullptr;
  const std::vector<int> ignored = ignored_signals();
  const bool is_ready = signals >= 0 && (enforcer != nullptr || !is_confined);
  while (is_ready && Watch(control, signals, enforcer.get(), ignored).run()) {
  }
  enforcer.reset();  // and with it what the kernel keeps of it
  ::_exit(0);
}

}  // namespace tools
