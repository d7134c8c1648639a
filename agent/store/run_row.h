// What the table of runs says of a run, so that a list needs none of its events: their fold.
#pragma once
#include "agent/event.h"
#include "agent/money.h"
#include "agent/secrets/redact.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

// Goes through the events of a run; a row alone does not say what its members had used.
class RowFold {
 public:
  RowFold() = default;
  // Goes on from a row: `told` is what its members have told before.
  RowFold(RunRow row, std::span<const Event> told);

  // The texts of the event are redacted.
  void add(const Event& event, const Redactor& redactor);
  // One that says nothing but its time, in milliseconds.
  void pass(std::int64_t time) { row_.updated = time; }
  const RunRow& row() const { return row_; }

 private:
  struct Bill {
    std::int64_t turns = 0;
    std::optional<Money> cost = Money{};
  };
  class Body;

  static std::string name_of(const MemberFinished& member);

  RunRow row_;
  std::map<std::string, Bill> members_;  // their last bills: each tells all that it has used
};

// Whether RowFold looks into events of that type, beyond their time.
bool is_in_rows(std::string_view event_type);

}  // namespace agent::store
