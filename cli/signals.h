// Signals as values: the ones that end a run go to its Cancellation, on a thread of their own.
#pragma once
#include "agent/cancellation.h"

#include <thread>

namespace cli {

// Blocks SIGINT, SIGTERM and SIGHUP for every thread started later, but for those that the caller
// of the program ignores (nohup, background jobs). Before the first thread.
void block_signals();

// Hears the blocked signals until it is destroyed.
class SignalWatcher {
 public:
  explicit SignalWatcher(agent::Cancellation& cancellation);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  int signals_;  // signalfd
  int done_;     // eventfd
  std::thread thread_;
};

// Ends the process by that signal, as if nobody had caught it.
[[noreturn]] void die_by(int signal);

}  // namespace cli
