// Folds a log that somebody else may have written or changed: says what it cannot hold.
#pragma once
#include "agent/event.h"
#include "agent/state.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace agent {

class LogFold {
 public:
  // Why the event cannot come behind those before, and then it is left out; empty: it is added.
  std::string add(const Event& event);

  bool is_empty() const { return run_id_.empty(); }
  const State& state() const { return state_; }  // that the events have led to
  State take_state() && { return std::move(state_); }

 private:
  std::string why_not_next(const Event& event) const;

  State state_;
  std::string run_id_;     // empty: there is no event yet
  std::int64_t seq_ = 0;   // of the last event
  std::int64_t turn_ = 0;  // that began last
  // Calls that have no result: the sums of their arguments, by their ids.
  std::map<std::string, std::string, std::less<>> waiting_;
};

}  // namespace agent
