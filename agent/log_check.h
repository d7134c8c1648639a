// What a log cannot hold: for records that somebody else may have written or changed.
#pragma once
#include "agent/event.h"
#include "agent/state.h"

#include <string>

namespace agent {

// Why the event cannot come behind the log that has led to the state and ends with `last` (null: it
// is empty); empty: it can.
std::string why_not_next(const State& state, const Event* last, const Event& event);

}  // namespace agent
