#include "providers/recording/tape_track.h"

#include <algorithm>
#include <utility>

namespace providers {

void RecordingTrack::note_time(std::int64_t reading) {
  const std::lock_guard lock(mutex_);
  noted_.clock.push_back(reading);
}

void RecordingTrack::note_tool(const std::string& call_id, std::int64_t duration_ms) {
  const std::lock_guard lock(mutex_);
  noted_.tools.emplace_back(call_id, duration_ms);
}

void RecordingTrack::end_tools() {
  const std::lock_guard lock(mutex_);
  noted_.tools_end = noted_.clock.size();
}

Meanwhile RecordingTrack::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(noted_, {});
}

std::vector<std::int64_t> RecordingTrack::take_clock() {
  const std::lock_guard lock(mutex_);
  return std::exchange(noted_.clock, {});
}

void ReplayingTrack::play(const Meanwhile& meanwhile) {
  play_clock(meanwhile.clock);
  const std::lock_guard lock(mutex_);
  current_.tools = meanwhile.tools;
  current_.tools_end = meanwhile.tools_end;
}

void ReplayingTrack::play_clock(const std::vector<std::int64_t>& readings) {
  const std::lock_guard lock(mutex_);
  current_.clock = readings;
  current_.tools_end = 0;
  read_ = 0;
}

void ReplayingTrack::end_tools() {
  const std::lock_guard lock(mutex_);
  if (current_.tools_end > 0) {
    read_ = current_.tools_end;
  }
}

std::int64_t ReplayingTrack::next_time() {
  const std::lock_guard lock(mutex_);
  if (read_ < current_.clock.size()) {
    last_ = std::max(last_, current_.clock[read_++]);  // a clock never goes back
  }
  return last_;
}

std::vector<Meanwhile::ToolTime> ReplayingTrack::tools() const {
  const std::lock_guard lock(mutex_);
  return current_.tools;
}

}  // namespace providers
