// Whether a journal is whole, and mending what can be mended.
#pragma once
#include "agent/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace agent::store {

struct Finding {
  std::string run_id;  // empty: the file as a whole
  std::string what;
  bool can_be_mended = false;
};

struct CheckReport {
  std::int64_t runs = 0;
  std::int64_t events = 0;
  bool is_sound = true;           // the file; what is in it was not looked at where it is not
  std::vector<Finding> findings;  // none: it is whole
};

// Reads all of the file, and changes nothing in it. storage.not_found where there is none,
// storage.corrupt where it is no journal of ours or a newer one.
Result<CheckReport> check_journal(const std::filesystem::path& file);

// How many bytes a journal had that was cut off; nothing: it is as long as it was. What its -wal
// file has need not be there. An error where that cannot be read.
Result<std::optional<std::uintmax_t>> length_before_cut(const std::filesystem::path& file);

struct Loss {
  std::string run_id;                       // empty: it is not known of which
  std::optional<std::int64_t> events_lost;  // nothing: it is not known how many
  std::int64_t events_kept = 0;             // none: the run is gone
  std::string what = {};                    // in place of these, where the run is not known
};

struct Mending {
  std::filesystem::path copy;  // of the file as it was; empty: nothing was to be mended
  std::vector<Loss> lost;      // what the file's list or index named, and nobody can read
  CheckReport after;           // its findings say what is lost as well
};

// Puts indexes in order and makes rows of runs from their events; where the file itself is damaged,
// a new one of all events that can still be read takes its place. A copy is kept first.
// storage.io where that cannot be made; cli.usage where a living process has a run in it.
Result<Mending> mend_journal(const std::filesystem::path& file);

}  // namespace agent::store
