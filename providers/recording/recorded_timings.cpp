#include "providers/recording/recorded_timings.h"

#include <algorithm>
#include <utility>

namespace providers {

void RecordingTimings::note_time(std::int64_t reading) {
  const std::lock_guard lock(mutex_);
  noted_.clock.push_back(reading);
}

void RecordingTimings::note_tool(const std::string& call_id, std::int64_t duration_ms) {
  const std::lock_guard lock(mutex_);
  noted_.tools.emplace_back(call_id, duration_ms);
}

void RecordingTimings::end_tools() {
  const std::lock_guard lock(mutex_);
  noted_.tools_end = noted_.clock.size();
}

Timings RecordingTimings::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(noted_, {});
}

std::vector<std::int64_t> RecordingTimings::take_clock() {
  const std::lock_guard lock(mutex_);
  return std::exchange(noted_.clock, {});
}

void ReplayingTimings::play(const Timings& timings) {
  play_clock(timings.clock);
  const std::lock_guard lock(mutex_);
  current_.tools = timings.tools;
  times_ = {timings.tools.begin(), timings.tools.end()};
  current_.tools_end = timings.tools_end;
  end_ = timings.tools_end > 0 ? timings.tools_end : timings.clock.size();
}

void ReplayingTimings::play_clock(const std::vector<std::int64_t>& readings) {
  const std::lock_guard lock(mutex_);
  current_.clock = readings;
  current_.tools_end = 0;
  end_ = readings.size();
  read_ = 0;
}

void ReplayingTimings::end_tools() {
  const std::lock_guard lock(mutex_);
  if (current_.tools_end > 0) {
    read_ = current_.tools_end;
    end_ = current_.clock.size();
  }
}

std::int64_t ReplayingTimings::next_time() {
  const std::lock_guard lock(mutex_);
  if (read_ < end_) {
    last_ = std::max(last_, current_.clock[read_++]);  // a clock never goes back
  }
  return last_;
}

std::optional<std::int64_t> ReplayingTimings::time_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = times_.find(name);
  return found == times_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Timings::ToolTime> ReplayingTimings::tools() const {
  const std::lock_guard lock(mutex_);
  return current_.tools;
}

}  // namespace providers
