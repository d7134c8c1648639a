#include "cli/signals.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace cli {
namespace {

constexpr std::array k_ending_signals = {SIGINT, SIGTERM, SIGHUP};

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

}  // namespace

void block_signals() {
  const sigset_t set = watched_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalWatcher::SignalWatcher(agent::Cancellation& cancellation) {
  const sigset_t set = watched_signals();
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  done_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this, &cancellation] {
    for (;;) {
      std::array<pollfd, 2> ready{pollfd{.fd = signals_, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = done_, .events = POLLIN, .revents = 0}};
      if (::poll(ready.data(), ready.size(), -1) < 0) {
        continue;
      }
      signalfd_siginfo info{};
      while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        cancellation.signal(static_cast<int>(info.ssi_signo));
      }
      if (ready[1].revents != 0) {
        return;
      }
    }
  });
}

SignalWatcher::~SignalWatcher() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(done_, &one, sizeof one);
  thread_.join();
  ::close(signals_);
  ::close(done_);
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

}  // namespace cli
