#include "cli/terminal/terminal.h"

#include "agent/descriptor.h"
#include "agent/text.h"
#include "cli/terminal/word_wrap.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace cli {
namespace {

bool is_ours(int terminal) {
  const pid_t group = ::tcgetpgrp(terminal);  // -1: a terminal that controls nobody
  return group < 0 || group == ::getpgrp();
}

// Ctrl-D ends the input, too, and is somebody's answer.
bool is_hung_up(int terminal) {
  pollfd state{.fd = terminal, .events = POLLIN, .revents = 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

// SIGHUP comes when the shell has seen that its terminal is gone, and to nohup's never.
void wait_for_the_signal(const std::stop_token& stop) {
  constexpr std::chrono::seconds k_patience{1};
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, k_patience, [] { return false; });
}

}  // namespace

bool Terminal::is_there() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 && is_ours(STDIN_FILENO);
}

bool Terminal::understands_escapes(int descriptor, const agent::Environment& environment) {
  const auto term = environment.find("TERM");
  return ::isatty(descriptor) == 1 && term != environment.end() && term->second != "dumb";
}

Terminal::Size Terminal::size() {
  winsize window{};
  const bool is_known =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0;
  return is_known ? Size{.rows = window.ws_row, .columns = window.ws_col} : Size{};
}

std::size_t Terminal::columns(int descriptor) {
  winsize window{};
  return ::ioctl(descriptor, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

void Terminal::say(std::string_view text) {
  agent::write_all(STDERR_FILENO, text);
}

std::string Terminal::clean(std::string_view text) const {
  return agent::printable(redactor_.apply(text));
}

std::string Terminal::with_marks(std::string_view text) const {
  constexpr std::string_view k_mark = "  | ";
  const std::string cleaned = clean(text);
  std::string_view rest = cleaned;
  WordWrap wrap;
  wrap.set_columns(columns(STDERR_FILENO));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    wrap.begin(k_mark, k_mark);
    wrap.put(rest.substr(0, end));
    wrap.end();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return wrap.take();
}

void Terminal::forget_typed() {
  ::tcflush(STDIN_FILENO, TCIFLUSH);
}

std::optional<Terminal::Line> Terminal::read_line(const std::stop_token& stop,
                                                  std::size_t limit,
                                                  std::chrono::steady_clock::time_point deadline) {
  Line line;
  for (;;) {
    if (!agent::wait_for_input(STDIN_FILENO, stop, deadline)) {
      say("\n");
      return std::nullopt;
    }
    char c = 0;
    const ssize_t count = ::read(STDIN_FILENO, &c, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (count <= 0 && (count < 0 || is_hung_up(STDIN_FILENO))) {
      wait_for_the_signal(stop);
      return std::nullopt;
    }
    if (count == 0) {
      return Line{.is_last = true};
    }
    if (c == '\n') {
      return line;
    }
    if (line.text.size() < limit) {
      line.text += c;
    }
  }
}

}  // namespace cli
