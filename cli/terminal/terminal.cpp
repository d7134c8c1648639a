#include "cli/terminal/terminal.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace cli {
namespace {

// Wakes a poll() when the run is to stop.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop)
      : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Wake{event_}) {}
  ~StopSignal() { ::close(event_); }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int descriptor() const { return event_; }

 private:
  struct Wake {
    int event;
    void operator()() const { ::eventfd_write(event, 1); }
  };
  int event_;
  std::stop_callback<Wake> callback_;
};

// For poll(): -1 where there is no deadline.
int until(std::chrono::steady_clock::time_point deadline) {
  using namespace std::chrono;
  if (deadline == steady_clock::time_point::max()) {
    return -1;
  }
  const auto left = ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, 60'000));
}

bool is_ours(int terminal) {
  const pid_t group = ::tcgetpgrp(terminal);  // -1: a terminal that controls nobody
  return group < 0 || group == ::getpgrp();
}

}  // namespace

bool Terminal::is_there() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 && is_ours(STDIN_FILENO);
}

Terminal::Size Terminal::size() {
  winsize window{};
  const bool is_known =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0;
  return is_known ? Size{.rows = window.ws_row, .columns = window.ws_col} : Size{};
}

void Terminal::say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) {
      return;
    }
    text.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
  }
}

std::string Terminal::clean(std::string_view text) const {
  return agent::printable(redactor_.apply(text));
}

std::string Terminal::with_marks(std::string_view text) const {
  const std::string cleaned = clean(text);
  std::string_view rest = cleaned;
  std::string lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines += fmt::format("  | {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

void Terminal::forget_typed() {
  ::tcflush(STDIN_FILENO, TCIFLUSH);
}

std::optional<std::string> Terminal::read_line(const std::stop_token& stop,
                                               std::size_t limit,
                                               std::chrono::steady_clock::time_point deadline) {
  const StopSignal stopped(stop);
  std::string line;
  for (;;) {
    std::array<pollfd, 2> ready{pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stopped.descriptor(), .events = POLLIN, .revents = 0}};
    const int count_ready = ::poll(ready.data(), ready.size(), until(deadline));
    const bool is_late = count_ready == 0 && std::chrono::steady_clock::now() >= deadline;
    if (is_late || (count_ready > 0 && ready[1].revents != 0)) {
      say("\n");
      return std::nullopt;
    }
    if (count_ready <= 0) {
      continue;
    }
    char c = 0;
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (count <= 0 || c == '\n') {
      return line;
    }
    if (line.size() < limit) {
      line += c;
    }
  }
}

}  // namespace cli
