#include "tools/process/talking_program.h"

#include "agent/text.h"
#include "tools/process/egress_proxy.h"
#include "tools/process/pipe.h"
#include "tools/process/program_start.h"
#include "tools/process/sandbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

using agent::Descriptor;
using agent::Milliseconds;
using Steady = std::chrono::steady_clock;

constexpr Milliseconds k_to_go_by_itself{500};  // after its stdin is closed
constexpr Milliseconds k_to_obey{1'000};        // SIGTERM
constexpr Milliseconds k_to_die{8'000};         // SIGKILL
constexpr std::size_t k_last_words = 4'000;     // bytes of stderr
constexpr std::size_t k_read_at_once = 64u << 10;

std::string how_it_ended(const Report& report,
                         const ProgramRequest& request,
                         const Sandbox* sandbox) {
  switch (report.kind) {
    case Report::Kind::exited:
      return fmt::format("ended with exit status {}", report.value);
    case Report::Kind::signalled:
      return report.is_out_of_memory ? "wanted more memory than the sandbox allows"
                                     : fmt::format("was ended by signal {}", report.value);
    case Report::Kind::no_folder:
    case Report::Kind::no_exec:
    case Report::Kind::no_process:
    case Report::Kind::no_sandbox:
      break;
  }
  return "could not be started: " + why_not_started(report, request, sandbox);
}

class LocalTalkingProgram final : public TalkingProgram {
 public:
  LocalTalkingProgram(ProgramRequest request, Listener listener, Sandbox* sandbox)
      : request_(std::move(request)), listener_(std::move(listener)), sandbox_(sandbox) {}
  ~LocalTalkingProgram() override { close(); }  // and then joins

  agent::Result<void> start(Supervisor& supervisor, agent::Dialer* dialer);

  void write(std::string line) override {
    line += '\n';
    {
      const std::lock_guard lock(mutex_);
      unread_ += line.size();
      is_unread_ = is_unread_ || unread_ > k_most_line;
      if (!is_unread_) {
        to_write_.push_back(std::move(line));
      }
    }
    wake();
  }
  void close() override {
    is_closing_ = true;
    wake();
  }
  std::string last_words() const override {
    const std::lock_guard lock(mutex_);
    return errors_;
  }
  std::string unfinished_line() const override {
    const std::lock_guard lock(mutex_);
    return unfinished_;
  }

 private:
  // What is done to end it, one after the other.
  enum class Stage : std::uint8_t { running, closed, terminated, killed, given_up };

  agent::Result<void> spawn(
      Supervisor& supervisor, agent::Dialer* dialer, int in, int out, int err);
  void wake() { ::eventfd_write(wake_.get(), 1); }
  void attend();
  void wait();
  void end_by_stages();
  void go_on_to(Stage stage);
  int milliseconds_left() const;
  bool write_some();  // false: it takes nothing more now
  bool has_to_write() const;
  bool does_not_read() const;
  std::string_view read_some(Descriptor& from);
  void read_lines();
  void read_errors();
  void note_unfinished(std::string_view line);
  void drain();
  void check_report();
  void finish();

  ProgramRequest request_;
  Listener listener_;
  Sandbox* sandbox_;
  std::string profile_;
  std::optional<Running> running_;
  std::unique_ptr<EgressProxy> egress_proxy_;
  Descriptor input_;
  Descriptor output_;
  Descriptor error_output_;
  Descriptor wake_;
  std::array<char, k_read_at_once> buffer_;

  mutable std::mutex mutex_;  // of the next four
  std::deque<std::string> to_write_;
  std::size_t unread_ = 0;  // bytes in it
  bool is_unread_ = false;  // there was too much
  std::string errors_;      // its last bytes

  std::atomic<bool> is_closing_ = false;
  std::size_t written_ = 0;  // of the first line in to_write_
  std::string line_;         // that has not ended yet
  std::string unfinished_;   // the beginning of it, under mutex_
  std::string how_;          // it has ended; empty: it has not
  std::string why_ended_;    // what we end it for; empty: nothing of its own doing
  Stage stage_ = Stage::running;
  Steady::time_point stage_ends_;
  bool have_locks_held_ = false;
  std::jthread thread_;  // the last member: it uses the others
};

agent::Result<void> LocalTalkingProgram::start(Supervisor& supervisor, agent::Dialer* dialer) {
  TRY_ASSIGN(Pipe in, make_pipe(&Pipe::write));
  TRY_ASSIGN(Pipe out, make_pipe(&Pipe::read));
  TRY_ASSIGN(Pipe err, make_pipe(&Pipe::read));
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) {
    return agent::fail(agent::Code::os_failed,
                       fmt::format("cannot watch a program: {}", std::strerror(errno)));
  }
  input_ = std::move(in.write);
  output_ = std::move(out.read);
  error_output_ = std::move(err.read);
  if (sandbox_ != nullptr) {
    TRY_ASSIGN(profile_, sandbox_->begin());
  }
  auto spawned = spawn(supervisor, dialer, in.read.get(), out.write.get(), err.write.get());
  if (!spawned && sandbox_ != nullptr) {
    sandbox_->end(profile_, false);
  }
  return spawned;
}

agent::Result<void> LocalTalkingProgram::spawn(
    Supervisor& supervisor, agent::Dialer* dialer, int in, int out, int err) {
  TRY_ASSIGN(Running running,
             supervisor.spawn(program_of(request_, sandbox_, profile_), in, out, err));
  running_.emplace(std::move(running));
  if (running_->egress_proxy() >= 0) {
    TRY_ASSIGN(egress_proxy_,
               EgressProxy::open(running_->egress_proxy(), *sandbox_->hosts(), *dialer));
  }
  try {
    thread_ = std::jthread([this] { attend(); });
  } catch (const std::system_error& error) {
    return agent::fail(agent::error_of(error));
  }
  return {};
}

void LocalTalkingProgram::attend() {
  // Writing to a program that does not read raises it in the writing thread: this one.
  sigset_t pipes;
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipes, nullptr);
  try {
    while (how_.empty()) {
      end_by_stages();
      wait();
      check_report();
    }
  } catch (const std::exception& exception) {  // what it says is more than there is memory
    running_.reset();
    how_ = "was ended: " + agent::error_of(exception).message;
  }
  finish();
}

void LocalTalkingProgram::wait() {
  const auto poll_on = [](const Descriptor& fd, short events) {
    return pollfd{.fd = fd.get(), .events = events, .revents = 0};
  };
  std::array<pollfd, 5> events{
      {{.fd = running_->descriptor(), .events = POLLIN, .revents = 0},
       poll_on(wake_, POLLIN),
       poll_on(output_, POLLIN),
       poll_on(error_output_, POLLIN),
       {.fd = has_to_write() ? input_.get() : -1, .events = POLLOUT, .revents = 0}}};
  if (::poll(events.data(), events.size(), milliseconds_left()) <= 0) {
    return;
  }
  if (events[1].revents != 0) {
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
  }
  if (events[2].revents != 0) {
    read_lines();
  }
  if (events[3].revents != 0) {
    read_errors();
  }
  if (events[4].revents != 0) {
    write_some();
  }
}

bool LocalTalkingProgram::does_not_read() const {
  const std::lock_guard lock(mutex_);
  return is_unread_;
}

void LocalTalkingProgram::end_by_stages() {
  if (stage_ <= Stage::closed && does_not_read()) {
    why_ended_ = "does not read what it is sent";
    go_on_to(Stage::killed);
  } else if (is_closing_ && stage_ == Stage::running) {
    go_on_to(Stage::closed);
  } else if (stage_ != Stage::running && Steady::now() >= stage_ends_) {
    go_on_to(static_cast<Stage>(static_cast<int>(stage_) + 1));
  }
}

void LocalTalkingProgram::go_on_to(Stage stage) {
  while (stage == Stage::closed && has_to_write() && write_some()) {
  }
  stage_ = stage;
  input_.reset();
  switch (stage) {
    case Stage::running:
      return;
    case Stage::closed:
      stage_ends_ = Steady::now() + k_to_go_by_itself;
      return;
    case Stage::terminated:
      running_->terminate();
      stage_ends_ = Steady::now() + k_to_obey;
      return;
    case Stage::killed:
      running_->kill();
      stage_ends_ = Steady::now() + k_to_die;
      return;
    case Stage::given_up:
      how_ = "could not be ended";
      return;
  }
}

int LocalTalkingProgram::milliseconds_left() const {
  if (stage_ == Stage::running) {
    return -1;
  }
  const auto left = std::chrono::ceil<Milliseconds>(stage_ends_ - Steady::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

bool LocalTalkingProgram::has_to_write() const {
  const std::lock_guard lock(mutex_);
  return input_ && !to_write_.empty();
}

// What is in the queue stays where it is, but for this thread.
bool LocalTalkingProgram::write_some() {
  std::unique_lock lock(mutex_);
  const std::string& line = to_write_.front();
  lock.unlock();
  const ssize_t done = ::write(input_.get(), line.data() + written_, line.size() - written_);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (done < 0) {
    input_.reset();  // it does not want to read any more: how it ends will be heard
    return false;
  }
  written_ += static_cast<std::size_t>(done);
  if (written_ == line.size()) {
    lock.lock();
    unread_ -= line.size();
    to_write_.pop_front();
    written_ = 0;
  }
  return true;
}

// Empty: nothing now; closed where there will be no more.
std::string_view LocalTalkingProgram::read_some(Descriptor& from) {
  const ssize_t got = ::read(from.get(), buffer_.data(), buffer_.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return {};
  }
  if (got <= 0) {
    from.reset();
    return {};
  }
  return {buffer_.data(), static_cast<std::size_t>(got)};
}

void LocalTalkingProgram::read_lines() {
  std::string_view bytes = read_some(output_);
  if (!output_ && stage_ == Stage::running) {
    why_ended_ = "closed its stdout";
    go_on_to(Stage::closed);
  }
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() > k_most_line) {
      why_ended_ = fmt::format("wrote a line of more than {} MiB", k_most_line >> 20);
      agent::give_up(line_);
      output_.reset();
      go_on_to(Stage::killed);
      return;
    }
    if (end == std::string_view::npos) {
      note_unfinished(line_);
      return;
    }
    bytes.remove_prefix(end + 1);
    note_unfinished({});  // whoever hears it may ask
    listener_.on_line(line_);
    line_.clear();
  }
}

void LocalTalkingProgram::note_unfinished(std::string_view line) {
  constexpr std::size_t k_most_kept = 1'000;  // bytes, for people
  const std::lock_guard lock(mutex_);
  if (line.empty() || unfinished_.size() < k_most_kept) {
    unfinished_ = line.substr(0, k_most_kept);
  }
}

void LocalTalkingProgram::read_errors() {
  const std::string_view bytes = read_some(error_output_);
  const std::lock_guard lock(mutex_);
  errors_ += bytes;
  if (errors_.size() > 2 * k_last_words) {
    errors_.erase(0, errors_.size() - k_last_words);
  }
}

// What the dead have left in the pipes: no more than these can hold.
void LocalTalkingProgram::drain() {
  for (Descriptor* from : {&output_, &error_output_}) {
    for (int left = 16; *from && left > 0; --left) {
      pollfd event{.fd = from->get(), .events = POLLIN, .revents = 0};
      if (::poll(&event, 1, 0) <= 0) {
        break;
      }
      from == &output_ ? read_lines() : read_errors();
    }
  }
}

void LocalTalkingProgram::check_report() {
  auto report = running_->report();
  if (!report) {
    how_ = "was lost: " + report.error().message;
  } else if (*report) {
    have_locks_held_ = (*report)->have_locks_held;
    const bool by_itself = stage_ == Stage::running || stage_ == Stage::closed;
    stage_ = Stage::given_up;  // nothing is to be ended any more
    drain();
    how_ =
        by_itself || why_ended_.empty() ? how_it_ended(**report, request_, sandbox_) : why_ended_;
  }
}

void LocalTalkingProgram::finish() {
  egress_proxy_.reset();
  if (!line_.empty() && listener_.on_rest) {
    listener_.on_rest(std::exchange(line_, {}));
  }
  Ended ended{.how = how_};
  if (sandbox_ != nullptr) {
    ended.looked = sandbox_->end(profile_, have_locks_held_);
  }
  listener_.on_end(std::move(ended));
}

}  // namespace

agent::Result<std::unique_ptr<TalkingProgram>> start_talking(const ProgramRequest& request,
                                                             TalkingProgram::Listener listener,
                                                             Supervisor& supervisor,
                                                             Sandbox* sandbox,
                                                             agent::Dialer* dialer) {
  auto program = std::make_unique<LocalTalkingProgram>(request, std::move(listener), sandbox);
  TRY(program->start(supervisor, dialer));
  return program;
}

}  // namespace tools
