// What a person sees while a batch goes on: one live line on a terminal, a line every 30 s
// elsewhere, the first failures, and the sum at the end. All on stderr.
#pragma once
#include "agent/cancellation.h"
#include "agent/event.h"
#include "agent/money.h"
#include "agent/outcome.h"
#include "agent/secrets/redact.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace cli {

// How far a batch is.
struct BatchCount {
  std::int64_t ok = 0;
  std::map<int, std::int64_t> failed = {};  // by exit code
  std::int64_t earlier = 0;                 // of all these, those that ended in an earlier process
  std::int64_t not_begun = 0;               // and will not be; none of them is in `failed`
  std::int64_t failed_earlier = 0;          // in earlier processes
  std::int64_t running = 0;
  std::int64_t waiting = 0;  // of these, those whose provider is known to be down
  std::optional<agent::Money> cost = agent::Money{};  // nullopt: unknown, in whole or in part
  double share = 0;      // of the inputs' bytes, how many are done, from 0 to 1
  double new_share = 0;  // by this process
  bool has_share = false;

  std::int64_t failures() const;
  std::int64_t ended() const { return ok + failures() + not_begun; }
};

// "12 ended, 2 failed, 4 running (4 wait for their provider to be back), 37%, 2.1/s, $0.31, 40 s
// left"
std::string progress_words(const BatchCount& count, std::chrono::milliseconds elapsed);
// "100 inputs: 97 ok, 3 failed (2 auth, 1 max_turns), $1.20, 61 s"
std::string sum_words(const BatchCount& count, std::chrono::milliseconds elapsed);

// Thread-safe.
class BatchProgress {
 public:
  struct Options {
    int descriptor = STDERR_FILENO;
    int verbosity = 0;  // -1: errors alone; 0: failures and the sum; 1: every input
    bool live = false;  // stderr is a terminal that understands escape sequences
    bool color = false;
    agent::Cancellation* cancellation = nullptr;  // as Progress's
    std::chrono::seconds heartbeat{30};           // where nothing is live
  };

  // Borrows the redactor. Starts a thread: signals are blocked before.
  BatchProgress(Options options, const agent::Redactor& redactor);
  ~BatchProgress();

  // A line of its own; said also where only errors are, if it `is_error`.
  void say(std::string_view text, bool is_error = false);
  // What runs warn of: each sentence once.
  void warn(const agent::Warning& warning);
  // `input` names it: "input 17".
  void ended(std::string_view input, const agent::RunResult& result, const BatchCount& count);
  void update(const BatchCount& count);
  void finish(const BatchCount& count);

 private:
  using Steady = std::chrono::steady_clock;

  bool is_loud(int verbosity) const { return options_.verbosity >= verbosity; }
  std::chrono::milliseconds elapsed() const;
  void line(std::string_view text);
  void write(std::string_view text);
  void draw();
  void erase();
  void say_that_it_stops();
  void tick(const std::stop_token& stop);

  Options options_;
  const agent::Redactor& redactor_;
  const Steady::time_point begin_ = Steady::now();
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  BatchCount count_;
  std::set<std::string> warned_;
  std::int64_t told_failures_ = 0;
  bool is_drawn_ = false;
  bool has_said_stop_ = false;
  Steady::time_point last_line_ = begin_;
  std::jthread ticker_;  // last: it uses all of the above
};

}  // namespace cli
