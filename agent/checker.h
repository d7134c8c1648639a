// Who runs the checks of a run, as a port: the loop decides when, and what comes of it.
#pragma once
#include "agent/event.h"

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>

namespace agent {

class Checker {
 public:
  virtual ~Checker() = default;

  // The check of that place in the plan; everything but `turn` and `attempt`. Waits for its end:
  // `stop` ends it with SIGTERM, a second later SIGKILL, `kill` at once.
  virtual CheckRan run(std::size_t index, std::stop_token stop, std::stop_token kill) = 0;
  // What the model reads of checks that failed.
  virtual std::string told(std::span<const CheckRan> failed) = 0;
};

}  // namespace agent
