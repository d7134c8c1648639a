#include "agent/descriptor.h"

#include <climits>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

namespace agent {
namespace {

// How soon a stop is seen by somebody who waits. A descriptor that wakes would be one more that
// may not be had.
constexpr std::chrono::milliseconds k_slice{50};

bool is_ready(int descriptor, short events, std::chrono::milliseconds time) {
  pollfd ready{.fd = descriptor, .events = events, .revents = 0};
  return ::poll(&ready, 1, static_cast<int>(time.count())) > 0;
}

// The flag that keeps a descriptor from blocking belongs to everybody who has it open, the shell
// included. So it is asked whether there is room, and no more is written than fits into the least
// room that is called so.
class Writer {
 public:
  explicit Writer(int descriptor) : descriptor_(descriptor) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) {
      return;
    }
    is_socket_ = S_ISSOCK(status.st_mode);
    if (S_ISFIFO(status.st_mode)) {
      most_ = PIPE_BUF;
    } else if (S_ISCHR(status.st_mode) && ::isatty(descriptor) == 1) {
      constexpr std::size_t k_terminal_room = 256;
      most_ = k_terminal_room / 2;  // each line break may become two characters
    }
    may_block_ = is_socket_ || most_ != k_any;
  }

  bool may_block() const { return may_block_; }

  ssize_t write(std::string_view bytes, bool blocks) const {
    if (is_socket_) {
      const int flags = MSG_NOSIGNAL | (blocks ? 0 : MSG_DONTWAIT);
      return ::send(descriptor_, bytes.data(), bytes.size(), flags);
    }
    return ::write(
        descriptor_, bytes.data(), blocks ? bytes.size() : std::min(bytes.size(), most_));
  }

 private:
  static constexpr std::size_t k_any = std::numeric_limits<std::size_t>::max();

  int descriptor_;
  std::size_t most_ = k_any;
  bool is_socket_ = false;
  bool may_block_ = false;
};

}  // namespace

template <typename Wait>
bool WritePatience::wait_once(Wait wait) {
  const bool is_stopped = stop_.stop_requested();
  const bool is_killed = kill_.stop_requested();
  if ((is_stopped && std::chrono::nanoseconds(since_stop_) >= grace) ||
      (is_killed && std::chrono::nanoseconds(since_kill_) >= last_grace)) {
    return false;
  }
  const auto start = std::chrono::steady_clock::now();
  wait();
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - start;
  since_stop_ += is_stopped ? waited.count() : 0;
  since_kill_ += is_killed ? waited.count() : 0;
  return true;
}

bool WritePatience::wait_for_room(int descriptor) {
  while (!is_ready(descriptor, POLLOUT, std::chrono::milliseconds(0))) {
    if (!wait_once([&] { is_ready(descriptor, POLLOUT, k_slice); })) {
      return false;
    }
  }
  return true;
}

bool WritePatience::wait_a_moment() {
  return wait_once([] { std::this_thread::sleep_for(k_slice); });
}

int write_all(int descriptor, std::string_view bytes, WritePatience* patience) {
  const Writer writer(descriptor);
  const bool is_patient = patience != nullptr && writer.may_block();
  while (!bytes.empty()) {
    if (is_patient && !patience->wait_for_room(descriptor)) {
      return ETIMEDOUT;
    }
    const ssize_t count = writer.write(bytes, !is_patient);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {  // somebody made it non-blocking
      is_ready(descriptor, POLLOUT, k_slice);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool wait_for_input(int descriptor,
                    const std::stop_token& stop,
                    std::chrono::steady_clock::time_point deadline) {
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < deadline) {
    if (is_ready(descriptor, POLLIN, k_slice)) {
      return true;
    }
  }
  return false;
}

}  // namespace agent
