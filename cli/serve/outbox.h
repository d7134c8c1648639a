// What goes to one reader, in order, from any thread. Nobody who puts something in waits for the
// reader: a thread of its own does.
#pragma once
#include "agent/descriptor.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cli {

class Outbox {
 public:
  // Borrows the descriptor and the patience. `on_failure`: nothing more can be written there, and
  // the errno; called once, on the thread that writes. Signals are blocked before.
  Outbox(int descriptor, agent::WritePatience& patience, std::function<void(int)> on_failure);
  // Waits until all is written, or patience is over.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void put(std::string bytes);
  // What can be left out where the reader is behind.
  void put_if_idle(std::string bytes);
  // Whether who puts in on behalf of the reader should go on before the reader has read.
  bool has_room() const;

 private:
  void write_all_of_it();

  int descriptor_;
  agent::WritePatience& patience_;
  std::function<void(int)> on_failure_;
  mutable std::mutex mutex_;  // of the next four
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::size_t bytes_ = 0;  // of them, and of what is being written
  bool is_over_ = false;
  bool has_failed_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace cli
