#include "cli/signals.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::array k_ending_signals = {SIGINT, SIGTERM, SIGHUP};
constexpr int k_wake = SIGURG;  // for the watcher alone; from anywhere else it does nothing
constexpr std::chrono::seconds k_quick_end{2};  // from the second signal on

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : k_ending_signals) {
    if (!is_ignored(signal)) {
      ::sigaddset(&set, signal);
    }
  }
  return set;
}

// The next of these signals; 0: the deadline came first.
int next_signal(const sigset_t& set, const std::optional<Steady::time_point>& deadline) {
  for (;;) {
    int signal = 0;
    if (!deadline) {
      signal = ::sigwaitinfo(&set, nullptr);
    } else {
      const auto left = std::max(std::chrono::nanoseconds(*deadline - Steady::now()),
                                 std::chrono::nanoseconds(0));
      const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
      const timespec time{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
      signal = ::sigtimedwait(&set, nullptr, &time);
    }
    if (signal > 0) {
      return signal;
    }
    if (errno == EAGAIN) {
      return 0;
    }
  }
}

}  // namespace

void block_signals() {
  sigset_t set = watched_signals();
  ::sigaddset(&set, k_wake);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void unblock_signals() {
  const sigset_t set = watched_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

agent::Result<std::unique_ptr<SignalWatcher>> SignalWatcher::start(
    agent::Cancellation& cancellation, Timeout timeout) {
  block_signals();
  std::unique_ptr<SignalWatcher> watcher(new SignalWatcher(cancellation));
  watcher->begin(timeout);
  try {
    watcher->thread_ = std::thread([self = watcher.get()] { self->watch(); });
  } catch (const std::system_error& error) {
    return agent::fail(
        agent::Code::os_failed,
        std::string("no thread can be started to watch for signals: ") + error.code().message(),
        "Allow more processes (`ulimit -u`) or memory (`ulimit -v`).");
  }
  return watcher;
}

SignalWatcher::~SignalWatcher() {
  if (thread_.joinable()) {
    is_done_ = true;
    ::pthread_kill(thread_.native_handle(), k_wake);
    thread_.join();
  }
}

void SignalWatcher::begin(Timeout timeout) {
  const std::lock_guard lock(mutex_);
  timeout_ = timeout;
  deadline_ = timeout ? std::optional(Steady::now() + *timeout) : std::nullopt;
}

void SignalWatcher::set_deadline(std::optional<Steady::time_point> deadline) {
  const std::lock_guard lock(mutex_);
  deadline_ = deadline;
}

std::optional<std::chrono::steady_clock::time_point> SignalWatcher::deadline() {
  const std::lock_guard lock(mutex_);
  return deadline_;
}

SignalWatcher::Deadline::Deadline(SignalWatcher& watcher, Timeout timeout)
    : watcher_(watcher), is_set_(timeout && !watcher.deadline()) {
  if (is_set_) {
    watcher_.begin(timeout);
    ::pthread_kill(watcher_.thread_.native_handle(), k_wake);
  }
}

SignalWatcher::Deadline::~Deadline() {
  if (is_set_) {
    watcher_.begin(std::nullopt);
    ::pthread_kill(watcher_.thread_.native_handle(), k_wake);
  }
}

SignalWatcher::ProcessEnd::ProcessEnd(SignalWatcher& watcher, std::function<int(Timeout)> end)
    : watcher_(watcher) {
  const std::lock_guard lock(watcher_.mutex_);
  if (watcher_.cancellation_.stop().stop_requested()) {  // it came before there was an end
    end_process(end(watcher_.timeout_));
  }
  watcher_.end_ = std::move(end);
}

SignalWatcher::ProcessEnd::~ProcessEnd() {
  const std::lock_guard lock(watcher_.mutex_);
  watcher_.end_ = nullptr;
}

void SignalWatcher::watch() {
  sigset_t set = watched_signals();
  ::sigaddset(&set, k_wake);
  for (int heard = 0; !is_done_;) {
    const int signal = next_signal(set, deadline());
    if (is_done_) {
      return;
    }
    if (signal == k_wake) {
      continue;
    }
    if (heard >= 2) {
      die_by(cancellation_.signal_number());
    }
    if (signal == 0) {
      set_deadline(std::nullopt);
      cancellation_.expire();
    } else {
      cancellation_.signal(signal);
      if (++heard == 2) {
        set_deadline(Steady::now() + k_quick_end);
      }
    }
    end_process_if_asked();
  }
}

void SignalWatcher::end_process_if_asked() {
  const std::lock_guard lock(mutex_);
  if (end_) {
    end_process(end_(timeout_));
  }
}

void die_by(int signal) {
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::_exit(128 + signal);  // where the signal was ignored after all
}

void end_process(int exit_code) {
  if (exit_code > 128) {
    die_by(exit_code - 128);
  }
  ::_exit(exit_code);
}

}  // namespace cli
