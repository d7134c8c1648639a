// What ends the work of a command from outside, as values: signals, and the deadline of a command
// line. They go to its Cancellation, on a thread of their own.
#pragma once
#include "agent/cancellation.h"
#include "agent/result.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace cli {

// Blocks SIGINT, SIGTERM and SIGHUP for this thread and every one started later, but for those that
// the caller of the program ignores (nohup, background jobs). First thing in the process.
void block_signals();
// As they were: they end the process at once. What came meanwhile comes now.
void unblock_signals();

// Hears the blocked signals until it is destroyed. The first asks for an orderly end, the second
// for a quick one, which it makes itself where that takes longer than two seconds; a third ends the
// process.
class SignalWatcher {
 public:
  using Timeout = std::optional<std::chrono::milliseconds>;
  // Needs no descriptor. os.failed where no thread can be started. `timeout`: of all that the
  // command does from now on.
  static agent::Result<std::unique_ptr<SignalWatcher>> start(agent::Cancellation& cancellation,
                                                             Timeout timeout = std::nullopt);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  // While this lives, the first signal or the deadline ends the process from the watcher's thread:
  // it calls `end` with the timeout that there is, which says so and returns the exit code. For
  // what may wait where no stop is seen: opening a file that is a pipe, reading from it. Its
  // destructor does not return while the process is being ended.
  class ProcessEnd {
   public:
    ProcessEnd(SignalWatcher& watcher, std::function<int(Timeout)> end);
    ~ProcessEnd();
    ProcessEnd(const ProcessEnd&) = delete;
    ProcessEnd& operator=(const ProcessEnd&) = delete;

   private:
    SignalWatcher& watcher_;
  };

  // While this lives, there is this timeout from its beginning on, where there was none.
  class Deadline {
   public:
    Deadline(SignalWatcher& watcher, Timeout timeout);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

   private:
    SignalWatcher& watcher_;
    bool is_set_;
  };

 private:
  explicit SignalWatcher(agent::Cancellation& cancellation) : cancellation_(cancellation) {}
  void watch();
  void end_process_if_asked();
  void begin(Timeout timeout);
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline);
  std::optional<std::chrono::steady_clock::time_point> deadline();

  agent::Cancellation& cancellation_;
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;  // under mutex_, as the next two
  Timeout timeout_;
  std::function<int(Timeout)> end_;  // empty: there is somebody who sees the stop
  std::atomic<bool> is_done_ = false;
  std::thread thread_;
};

// Ends the process by that signal, as if nobody had caught it.
[[noreturn]] void die_by(int signal);
// Ends the process as its main function would by returning this: by the signal where it stands for
// one.
[[noreturn]] void end_process(int exit_code);

}  // namespace cli
