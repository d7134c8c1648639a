#include "tools/process/local_program_runner.h"

#include "tools/process/egress_proxy.h"
#include "tools/process/pipe.h"
#include "tools/process/program_result.h"
#include "tools/process/program_start.h"
#include "tools/process/sandbox.h"
#include "tools/process/talking_program.h"
#include "tools/sandbox/namespaces.h"
#include "tools/sandbox/repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <pthread.h>
#include <stop_token>
#include <string_view>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

using agent::Descriptor;
using agent::Milliseconds;
using Steady = std::chrono::steady_clock;
using End = ProgramResult::End;

constexpr std::chrono::seconds k_grace{1};     // between SIGTERM and SIGKILL
constexpr std::chrono::seconds k_patience{8};  // with a shim that does not report after SIGKILL
constexpr std::size_t k_read_size = 64u << 10;
constexpr std::array k_proxy_variables = {
    "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

// Writing to a program that does not read raises SIGPIPE in the writing thread: it is kept off
// for as long as this lives, and what was raised is taken back.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&set_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

ProgramResult not_started(const agent::Error& why) {
  ProgramResult result;
  result.message = why.message;
  result.is_shortage = why.code == agent::Code::os_failed;
  return result;
}

// One run: everything that it waits for, in one poll.
class Call {
 public:
  Call(const ProgramRequest& request,
       const ProgramControl& control,
       const Sandbox* sandbox,
       std::string profile,
       agent::Dialer* dialer)
      : request_(request),
        control_(control),
        sandbox_(sandbox),
        profile_(std::move(profile)),
        dialer_(dialer),
        output_{.fd = {}, .capture = Capture(request.temporary, request.limits)},
        errors_{.fd = {}, .capture = Capture(request.temporary, request.limits)} {}

  ProgramResult run(Supervisor& supervisor);

 private:
  struct Stream {
    Descriptor fd;
    Capture capture;
  };

  agent::Result<Running> start(Supervisor& supervisor);
  void watch(Running& running);
  void wait(const Running& running);
  void write_input();
  void read_some(Stream& stream);
  void drain(Stream& stream);
  void check_report(Running& running);
  void check_deadlines(Running& running);
  void end_early(Running& running, End why, bool at_once);
  std::optional<Steady::time_point> next_deadline() const;
  ProgramResult finish();

  const ProgramRequest& request_;
  const ProgramControl& control_;
  const Sandbox* sandbox_;  // null: no sandbox
  std::string profile_;
  agent::Dialer* dialer_;  // where that has an egress proxy
  Stream output_;
  Stream errors_;
  Descriptor input_;
  std::string_view to_write_;
  Descriptor wake_;  // readable when a stop token fired

  Steady::time_point started_ = Steady::now();
  Steady::time_point last_activity_ = started_;
  std::optional<End> early_;  // why the program was asked to end
  std::optional<Steady::time_point> kill_at_;
  std::optional<Steady::time_point> give_up_at_;
  bool is_killed_ = false;
  bool is_over_ = false;
  ProgramResult result_;
};

agent::Result<Running> Call::start(Supervisor& supervisor) {
  TRY_ASSIGN(Pipe out, make_pipe(&Pipe::read));
  Pipe err;
  if (!request_.merge_stderr) {
    TRY_ASSIGN(err, make_pipe(&Pipe::read));
  }
  Pipe in;
  if (request_.input) {
    TRY_ASSIGN(in, make_pipe(&Pipe::write));
    to_write_ = *request_.input;
  } else {
    in.read = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) {
    return agent::fail(agent::Code::os_failed,
                       fmt::format("cannot watch a program: {}", std::strerror(errno)));
  }
  TRY_ASSIGN(Running running,
             supervisor.spawn(program_of(request_, sandbox_, profile_),
                              in.read.get(),
                              out.write.get(),
                              request_.merge_stderr ? out.write.get() : err.write.get()));
  output_.fd = std::move(out.read);
  errors_.fd = std::move(err.read);
  input_ = std::move(in.write);
  return running;
}

ProgramResult Call::run(Supervisor& supervisor) {
  if (control_.stop.stop_requested() || control_.kill.stop_requested()) {
    result_.end = End::cancelled;
    return std::move(result_);
  }
  auto running = start(supervisor);
  if (!running) {
    return not_started(running.error());
  }
  const auto wake = [this] { ::eventfd_write(wake_.get(), 1); };
  const std::stop_callback on_stop(control_.stop, wake);
  const std::stop_callback on_kill(control_.kill, wake);
  std::unique_ptr<EgressProxy> egress_proxy;
  if (running->egress_proxy() >= 0) {
    auto opened = EgressProxy::open(running->egress_proxy(), *sandbox_->hosts(), *dialer_);
    if (!opened) {
      return not_started(opened.error());
    }
    egress_proxy = std::move(*opened);
  }
  const NoSigpipe no_sigpipe;
  watch(*running);
  if (egress_proxy) {
    result_.refused = egress_proxy->refused();
  }
  return finish();
}

void Call::watch(Running& running) {
  write_input();
  while (!is_over_) {
    check_deadlines(running);
    wait(running);
    check_report(running);
  }
  drain(output_);
  drain(errors_);
}

void Call::wait(const Running& running) {
  const auto poll_on = [](const Descriptor& fd, short events) {
    return pollfd{.fd = fd.get(), .events = events, .revents = 0};
  };
  std::array<pollfd, 5> events{{{.fd = running.descriptor(), .events = POLLIN, .revents = 0},
                                poll_on(wake_, POLLIN),
                                poll_on(output_.fd, POLLIN),
                                poll_on(errors_.fd, POLLIN),
                                poll_on(input_, POLLOUT)}};
  int timeout = -1;
  if (const auto deadline = next_deadline()) {
    const auto left = std::chrono::ceil<Milliseconds>(*deadline - Steady::now()).count();
    timeout = static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
  }
  if (::poll(events.data(), events.size(), timeout) <= 0) {
    return;
  }
  if (events[1].revents != 0) {
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
  }
  if (events[2].revents != 0) {
    read_some(output_);
  }
  if (events[3].revents != 0) {
    read_some(errors_);
  }
  if (events[4].revents != 0) {
    write_input();
  }
}

void Call::write_input() {
  while (input_ && !to_write_.empty()) {
    const ssize_t written = ::write(input_.get(), to_write_.data(), to_write_.size());
    if (written < 0 && errno == EAGAIN) {
      return;
    }
    if (written < 0 && errno != EINTR) {
      to_write_ = {};  // the program does not want to read it: its own affair
    } else if (written > 0) {
      to_write_.remove_prefix(static_cast<std::size_t>(written));
      last_activity_ = Steady::now();
    }
  }
  input_.reset();
}

// One chunk, so that a program that writes without end cannot keep the loop from its deadlines.
void Call::read_some(Stream& stream) {
  std::array<char, k_read_size> buffer;
  const ssize_t got = ::read(stream.fd.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    stream.fd.reset();
    return;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  last_activity_ = Steady::now();
  stream.capture.add(bytes);
  if (control_.on_output) {
    control_.on_output(bytes);
  }
}

// What the dead have left in the pipe. Bounded by what a pipe can hold: one that still comes after
// that is written by a process that got away.
void Call::drain(Stream& stream) {
  if (!stream.fd) {
    return;
  }
  const int capacity = std::max(::fcntl(stream.fd.get(), F_GETPIPE_SZ), 1);
  for (int left = capacity; stream.fd && left >= 0; left -= static_cast<int>(k_read_size)) {
    pollfd event{.fd = stream.fd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&event, 1, 0) <= 0) {
      return;
    }
    read_some(stream);
  }
}

void Call::check_report(Running& running) {
  auto report = running.report();
  if (!report) {
    result_.end = End::lost;
    result_.message = std::move(report.error().message);
    is_over_ = true;
    return;
  }
  if (!*report) {
    return;
  }
  is_over_ = true;
  result_.survivors = (*report)->survivors;
  result_.have_locks_held = (*report)->have_locks_held;
  switch ((*report)->kind) {
    case Report::Kind::exited:
      result_.end = End::exited;
      result_.exit_status = (*report)->value;
      return;
    case Report::Kind::signalled:
      result_.end = End::signalled;
      result_.signal = (*report)->value;
      result_.is_out_of_memory = (*report)->is_out_of_memory;
      return;
    case Report::Kind::no_folder:
    case Report::Kind::no_exec:
    case Report::Kind::no_process:
    case Report::Kind::no_sandbox:
      result_.end = End::not_started;
      result_.error_number = (*report)->value;
      result_.is_shortage = agent::is_shortage(result_.error_number);
      result_.message = why_not_started(**report, request_, sandbox_);
      return;
  }
}

void Call::check_deadlines(Running& running) {
  const auto now = Steady::now();
  if (control_.kill.stop_requested()) {
    end_early(running, End::cancelled, true);
  } else if (control_.stop.stop_requested()) {
    end_early(running, End::cancelled, false);
  } else if (request_.timeout && now >= started_ + *request_.timeout) {
    end_early(running, End::timed_out, false);
  } else if (request_.idle_timeout && now >= last_activity_ + *request_.idle_timeout) {
    end_early(running, End::idle, false);
  }
  if (kill_at_ && now >= *kill_at_) {
    end_early(running, *early_, true);
  }
  if (give_up_at_ && now >= *give_up_at_) {
    result_.end = *early_;
    result_.survivors = std::max(result_.survivors, 1);
    is_over_ = true;
  }
}

// The first reason counts; a later one can only make it quicker.
void Call::end_early(Running& running, End why, bool at_once) {
  if (!early_) {
    early_ = why;
    if (!at_once) {
      running.terminate();
      kill_at_ = Steady::now() + k_grace;
    }
  }
  if (at_once && !is_killed_) {
    is_killed_ = true;
    running.kill();
    kill_at_.reset();
    give_up_at_ = Steady::now() + k_patience;
  }
}

std::optional<Steady::time_point> Call::next_deadline() const {
  if (is_killed_) {
    return give_up_at_;
  }
  if (early_) {
    return kill_at_;
  }
  std::optional<Steady::time_point> deadline;
  if (request_.timeout) {
    deadline = started_ + *request_.timeout;
  }
  if (request_.idle_timeout) {
    const auto idle = last_activity_ + *request_.idle_timeout;
    deadline = deadline ? std::min(*deadline, idle) : idle;
  }
  return deadline;
}

ProgramResult Call::finish() {
  if (early_ && (result_.end == End::exited || result_.end == End::signalled)) {
    result_.end = *early_;
  }
  result_.output = output_.capture.finish();
  result_.errors = errors_.capture.finish();
  return std::move(result_);
}

}  // namespace

agent::Environment LocalProgramRunner::environment() const {
  if (sandbox_ == nullptr) {
    return {};
  }
  agent::Environment environment = sandbox_->variables();
  if (sandbox_->hosts() != nullptr) {
    const auto proxy =
        fmt::format("http://{}:{}", sandbox::k_outlet_address, sandbox::k_outlet_port);
    for (const char* name : k_proxy_variables) {
      environment.emplace(name, proxy);
    }
    environment.emplace("NO_PROXY", "");
    environment.emplace("no_proxy", "");
    environment.emplace("NODE_USE_ENV_PROXY", "1");
  }
  return environment;
}

ProgramResult LocalProgramRunner::run(const ProgramRequest& request,
                                      const ProgramControl& control) {
  const bool may_change_files =
      sandbox_ != nullptr && !sandbox_->in_force().has(sandbox::Layer::mounts);
  const ProgramTurns::Turn turn =
      may_change_files && !request.is_the_users
          ? supervisor_.turns().take(ProgramTurns::Side::tools, control.stop)
          : ProgramTurns::Turn();
  if (sandbox_ == nullptr) {
    return Call(request, control, nullptr, {}, dialer_).run(supervisor_);
  }
  const auto profile = sandbox_->begin();
  if (!profile && profile.error().code == agent::Code::run_cancelled) {
    ProgramResult stopped;
    stopped.end = ProgramResult::End::cancelled;
    return stopped;
  }
  if (!profile) {
    return not_started(profile.error());
  }
  ProgramResult result = Call(request, control, sandbox_, *profile, dialer_).run(supervisor_);
  sandbox::ProtectedEnd looked = sandbox_->end(*profile, result.have_locks_held);
  result.changes = std::move(looked.changes);
  result.was_alone = looked.was_alone;
  result.unseen = std::move(looked.trouble);
  return result;
}

namespace {

// Of a file that `errand` itself obeys.
std::string noticed_text(const std::filesystem::path& path) {
  const std::string_view change = ::access(path.c_str(), F_OK) == 0
                                      ? "is another one than before this run's tools: read it"
                                      : "is gone since this run's tools: restore it";
  if (path.parent_path().filename() == ".errand") {
    return fmt::format("`{}` {} before errand runs an agent there", path.string(), change);
  }
  return sandbox::is_tool_lock(path.filename().native())
             ? fmt::format("the lock `{}` {} before `errand run` goes by it", path.string(), change)
             : fmt::format(
                   "the test case `{}` {} before `errand test` obeys it", path.string(), change);
}

}  // namespace

agent::Result<std::unique_ptr<TalkingProgram>> LocalProgramRunner::talk(
    const ProgramRequest& request, TalkingProgram::Listener&& listener) {
  return start_talking(request, std::move(listener), supervisor_, sandbox_, dialer_);
}

ProgramTurns::Turn LocalProgramRunner::begin_turn(const std::stop_token& stop) {
  return supervisor_.turns().take(ProgramTurns::Side::user, stop);
}

agent::Result<void> LocalProgramRunner::before_writing() {
  return sandbox_ != nullptr ? sandbox_->note_writing() : agent::Result<void>();
}

std::vector<agent::Leftover> LocalProgramRunner::tidy_up() {
  std::vector<agent::Leftover> left;
  if (sandbox_ == nullptr) {
    return left;
  }
  const sandbox::ProtectedFiles::Sweep sweep = sandbox_->sweep();
  for (const sandbox::ProtectedChange& change : sweep.changes) {
    const bool is_changed = change.outcome == sandbox::ProtectedChange::Outcome::noticed;
    std::string sentence =
        is_changed ? noticed_text(change.path)
                   : fmt::format(
                         "what git or errand would obey was made while this run's tools "
                         "were at work: {}",
                         change_text(change));
    left.push_back({.sentence = std::move(sentence), .ends_as = end_with(change)});
  }
  if (sweep.trouble) {
    left.push_back({.sentence = sweep.trouble->message, .ends_as = sweep.trouble->code});
  }
  if (!sweep.is_whole) {
    left.push_back({.sentence = "not every folder could be searched for what git or errand would "
                                "obey: there are too many "
                                "files, they are too deep, or a folder refuses to be listed"});
  }
  return left;
}

}  // namespace tools
