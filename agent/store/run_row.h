// What the table of runs says of a run, so that a list needs none of its events: their fold.
#pragma once
#include "agent/event.h"
#include "agent/money.h"
#include "agent/secrets/redact.h"

#include <cstdint>
#include <optional>
#include <string>

namespace agent::store {

// Times in milliseconds of the Unix epoch.
struct RunRow {
  std::string run_id;
  std::int64_t started = 0;  // by its first process
  std::int64_t begun = 0;    // by its last one
  std::int64_t updated = 0;  // the last event's
  std::optional<std::int64_t> finished;
  std::optional<int> exit_code;
  std::string agent;
  std::string model;
  std::string cwd;
  std::string session;  // the run's name; may be empty
  std::string prompt;   // the beginning of the first one
  std::int64_t turns = 0;
  std::optional<Money> cost = Money{};  // nullopt: unknown, in whole or in part

  bool operator==(const RunRow&) const = default;
};

std::int64_t to_milliseconds(std::chrono::system_clock::time_point time);

// The texts of the event are redacted.
void fold(RunRow& row, const Event& event, const Redactor& redactor);

// Whether fold() looks into events of that type, beyond their time.
bool is_in_rows(std::string_view event_type);

}  // namespace agent::store
