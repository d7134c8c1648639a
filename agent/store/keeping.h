// Looking after a journal: taking runs out of it, and in again.
#pragma once
#include "agent/result.h"
#include "agent/secrets/redact.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agent::store {

struct Removal {
  std::vector<std::string> run_ids;  // of those that are gone
  std::vector<std::string> parked;   // of prune(): those of the first whose calls waited for a yes
  std::vector<std::string> in_use;   // that stay: a living process has them, or, of remove_runs(),
                                     // a run that they worked for, which comes first
  std::string remains;  // why bytes of what is gone may still be in the file; empty: they are not
};

// Whether the file is written anew, so that no bytes of the runs are left in it, nor in its -wal
// file; that holds up other processes, and takes as much room again. Else they are overwritten
// where they stood, and the -wal file is emptied unless another process is at work in it just then;
// copies that SQLite made while it moved them can stay.
enum class Traces : std::uint8_t { erase, leave };

// What a removal that was killed has left of the runs that are gone: taken out now, unless a living
// process has a run in the file, or nothing is waiting in its -wal file.
void finish_removals(const std::filesystem::path& file);

// storage.not_found where one of them is not there, cli.usage where one worked for a run that has
// still to be carried on and stays: nothing is removed then.
Result<Removal> remove_runs(const std::filesystem::path& file,
                            std::span<const std::string> run_ids,
                            Traces traces);

struct OldRuns {
  std::chrono::system_clock::time_point before;  // nothing was heard of them since
  std::string agent;                             // of this name, and their members; empty: of any
  std::string folder;                            // begun in this one; empty: in any
  std::string stays = {};                        // one that is none of them; empty: there is none
};

// Those of the runs whose calls wait for a yes.
Result<std::vector<std::string>> parked_of(const std::filesystem::path& file,
                                           std::span<const std::string> run_ids);

// Those that no living process has, and that worked for no run which stays; the oldest is first.
Result<std::vector<std::string>> find_old_runs(const std::filesystem::path& file,
                                               const OldRuns& which);
// Removes them.
Result<Removal> prune(const std::filesystem::path& file, const OldRuns& which, Traces traces);

// Puts a run into the file, which is made where it is not there, and returns its id. The text is
// what read_run_texts() gave, a line each; `name` is what messages call it. It is kept as it is,
// but for secrets. config.invalid, with the line, where it is no whole run; cli.usage where the run
// is there already.
Result<std::string> import_run(const std::filesystem::path& file,
                               std::string_view text,
                               const std::string& name,
                               const Redactor& redactor);

}  // namespace agent::store
