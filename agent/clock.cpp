#include "agent/clock.h"

#include <condition_variable>
#include <mutex>

namespace agent {

bool SystemClock::sleep_for(std::chrono::milliseconds time, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any wakeup;
  std::unique_lock lock(mutex);
  wakeup.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace agent
