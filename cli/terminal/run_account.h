// A run as its log tells it: turns, calls, waits, costs, approvals and the ending, a line each. And
// one turn of it as a whole.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cli {

struct AccountOptions {
  std::size_t columns = 80;  // to which lines of calls and texts are cut
  bool color = false;
  std::optional<std::int64_t> turn;  // this one alone, with all that was said in it
};

// Safe to show, with the last line's end. Empty where there is no such turn.
std::string account_of(std::span<const agent::Event> events,
                       const AccountOptions& options,
                       const agent::Redactor& redactor);

// The events of a turn: from its beginning to the next one's, or the run's end.
std::span<const agent::Event> events_of_turn(std::span<const agent::Event> events,
                                             std::int64_t turn);

// "2026-11-23 04:43:52", where the machine is.
std::string local_time(std::chrono::system_clock::time_point time);

}  // namespace cli
