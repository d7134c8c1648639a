// The calls of all clients that go on at once, each on a thread; more wait for their turn, and no
// more than so many.
#pragma once
#include "agent/cancellation.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cli {

// A call as who performs it and who waits for it see it. Thread-safe.
struct PooledCall {
  agent::Cancellation cancellation;
  std::atomic<bool> is_wanted{true};  // false: its client wants no answer any more
};

class CallPool {
 public:
  struct Options {
    std::size_t most_running = 8;
    std::size_t most_waiting = 64;
    std::chrono::milliseconds sign_every{10'000};
  };
  // Which call of which client.
  struct Key {
    std::uint64_t client = 0;
    std::string id;

    bool operator==(const Key&) const = default;
  };
  enum class Taken : std::uint8_t { yes, twice, full };
  // Called once for each call that was taken, also for one that was stopped before it began: on a
  // thread of the pool, or of who stopped it. Throws nothing.
  using Work = std::function<void(PooledCall&)>;
  // Called now and then, from when the call is taken to its answer: it waits, or goes on. Waits for
  // nobody, and throws nothing.
  using Sign = std::function<void(bool is_running)>;

  // What stops the whole stops each of them. Borrowed; signals are blocked before.
  CallPool(Options options, agent::Cancellation& whole) : options_(options), whole_(whole) {}
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  // twice: one of that key is there; full: nothing more can wait, or no thread can be started.
  // `takes_turns`: it begins when all that do and came before it have ended.
  Taken begin(Key key, bool takes_turns, Work work, Sign sign);
  // Its client wants no answer any more.
  void cancel(const Key& key, const agent::Ending& why);
  void cancel_all_of(std::uint64_t client, const agent::Ending& why);
  bool has_any_of(std::uint64_t client);
  // From now on it is none that goes on, for it is answered next: false: its client wants no
  // answer.
  bool take_answered(PooledCall& call);
  // Ends all of them, with their answers. Returns when they are done; nothing begins any more.
  void finish(const agent::Ending& why);

 private:
  struct Entry {
    Key key;
    bool takes_turns = false;
    Work work;
    Sign sign;
    PooledCall call;
    bool is_running = false;
    bool is_answered = false;
  };

  bool start_thread();
  bool start_signs();
  void serve();
  std::list<Entry>::iterator next();
  void give_signs(const std::stop_token& stop);
  void perform(Entry& entry);
  void cancel_where(const std::function<bool(const Key&)>& is_meant, const agent::Ending& why);

  const Options options_;
  agent::Cancellation& whole_;
  std::mutex mutex_;  // of the rest
  std::condition_variable changed_;
  std::list<Entry> entries_;  // in the order in which they came
  std::size_t idle_ = 0;      // threads
  bool is_over_ = false;
  std::vector<std::thread> threads_;
  std::condition_variable_any no_more_signs_;
  std::jthread signs_;  // begun with the first call
};

// Ends the calls of a pool before what they use is gone, however that comes to be left.
class EndOfCalls {
 public:
  EndOfCalls(CallPool& pool, agent::Ending why) : pool_(pool), why_(std::move(why)) {}
  ~EndOfCalls() { pool_.finish(why_); }
  EndOfCalls(const EndOfCalls&) = delete;
  EndOfCalls& operator=(const EndOfCalls&) = delete;

 private:
  CallPool& pool_;
  const agent::Ending why_;
};

}  // namespace cli
