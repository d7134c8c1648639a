// An open file descriptor that is closed with its owner, and writing to one that may not take it.
#pragma once
#include <atomic>
#include <chrono>
#include <stop_token>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace agent {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  void reset() {
    if (number_ >= 0) {
      ::close(std::exchange(number_, -1));
    }
  }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;  // -1: none
};

// How long the writers of a process wait for readers that do not read: as long as it takes, and
// once `stop` was requested `grace` in all; once `kill` was requested `last_grace` in all, for
// those who do read to have a whole last line. Thread-safe.
class WritePatience {
 public:
  static constexpr std::chrono::milliseconds grace{2'000};
  static constexpr std::chrono::milliseconds last_grace{500};

  WritePatience(std::stop_token stop, std::stop_token kill)
      : stop_(std::move(stop)), kill_(std::move(kill)) {}

  // Until something can be written there, or nothing ever can. False: patience is over.
  bool wait_for_room(int descriptor);
  // The same for what cannot be waited for otherwise: sleeps. False: patience is over.
  bool wait_a_moment();
  // For who waits for a reader that has not come yet: there is no line to finish for it.
  bool is_stopped() const { return stop_.stop_requested() || kill_.stop_requested(); }

 private:
  using Waited = std::atomic<std::chrono::nanoseconds::rep>;  // all the waits are in it

  template <typename Wait>
  bool wait_once(Wait wait);

  std::stop_token stop_;
  std::stop_token kill_;
  Waited since_stop_{0};
  Waited since_kill_{0};
};

// Writes all of it. 0, or the errno of what failed; ETIMEDOUT: patience was over before a reader
// took it. Without patience it waits for as long as it takes: for files, and for commands that
// leave signals as they are.
int write_all(int descriptor, std::string_view bytes, WritePatience* patience = nullptr);

// Until there is something to read; false: the stop or the deadline came first. Needs no descriptor
// of its own.
bool wait_for_input(
    int descriptor,
    const std::stop_token& stop,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max());

}  // namespace agent
