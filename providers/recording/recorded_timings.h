// What a recording knows of a run beside its HTTP exchanges: the clock's readings and how long the
// tools took. One side notes it down, the other gives it back.
#pragma once
#include "providers/recording/cassette.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace providers {

// Gathers what happens between two exchanges. Thread-safe.
class RecordingTimings {
 public:
  void note_time(std::int64_t reading);
  void note_tool(const std::string& call_id, std::int64_t duration_ms);
  void end_tools();  // all calls of a reply have ended

  Timings take();                          // all since the last time
  std::vector<std::int64_t> take_clock();  // the readings alone

 private:
  std::mutex mutex_;
  Timings noted_;
};

// Gives back what was noted, from one exchange to the next: a replay that reads the clock once more
// or less than the recorded run is in step again at the next request. Thread-safe.
class ReplayingTimings {
 public:
  void play(const Timings& timings);
  void play_clock(const std::vector<std::int64_t>& readings);
  void end_tools();  // in step again, however often the tools made somebody read the clock

  std::int64_t next_time();  // where the readings are used up, the last one again
  std::vector<Timings::ToolTime> tools() const;
  std::optional<std::int64_t> time_of(const std::string& name) const;  // one of them

 private:
  mutable std::mutex mutex_;
  Timings current_;
  std::size_t read_ = 0;  // of current_.clock
  std::size_t end_ = 0;   // of what may be read: while tools run, nothing of what came after them
  std::int64_t last_ = 0;
  std::unordered_map<std::string, std::int64_t> times_;  // of current_.tools
};

}  // namespace providers
