// The runs that a journal holds: reading them, choosing one, and looking after them.
#pragma once
#include "agent/approvals.h"
#include "agent/event.h"
#include "agent/result.h"
#include "agent/store/owner.h"
#include "agent/store/run_row.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agent::store {

// As agent::Status where the run has ended, but for one that calls wait in; else by whether a
// living process has it.
enum class RunStatus : std::uint8_t {
  ok,
  failed,
  stopped,
  error,
  cancelled,
  running,
  interrupted,
  parked,
};
constexpr std::array<std::string_view, 8> k_run_statuses = {
    "ok", "failed", "stopped", "error", "cancelled", "running", "interrupted", "parked"};
std::string_view to_string(RunStatus status);
std::optional<RunStatus> run_status(std::string_view name);

struct RunInfo {
  RunRow row;
  RunStatus status = RunStatus::interrupted;
  std::optional<Owner> owner;  // of a running one, where it is known
};

// What a list is to hold; empty: whatever there is.
struct RunFilter {
  std::string folder;  // that the runs began in
  std::string agent;
  std::string session;  // the run's name
  std::string batch;    // the runs' names are this one with #1, #2 and so on
  std::optional<RunStatus> status;
  std::optional<std::chrono::system_clock::time_point> since;  // begun or carried on
  std::size_t limit = 0;                                       // 0: all
};

// Each of these changes nothing in the file; storage.not_found where there is no such file,
// storage.io and storage.corrupt as SqliteJournal::open().

// The one begun or carried on last comes first.
Result<std::vector<RunInfo>> list_runs(const std::filesystem::path& file, const RunFilter& filter);

// The id of the run that is meant: an id, a name (the newest run of it in the folder, else of
// all), or the beginning of an id, at least 4 characters; empty: the folder's last one.
// storage.not_found where there is none, cli.usage where several begin so, or one is called as
// another one's id begins.
Result<std::string> find_run(const std::filesystem::path& file,
                             const std::string& selector,
                             const std::string& folder);

// A run that no process has, and whose calls, or those of a member, wait for a yes.
struct WaitingRun {
  RunRow row;
  Approvals approvals;  // nothing pending: members of it have waited when it ended
};
// The one begun or carried on last comes first. Empty: `run_id` means all, `folder` all folders.
// Of one run these are its own and those of its members.
Result<std::vector<WaitingRun>> waiting_runs(const std::filesystem::path& file,
                                             const std::string& run_id,
                                             const std::string& folder);

// storage.not_found where there is no such run.
Result<RunInfo> run_info(const std::filesystem::path& file, const std::string& run_id);
// The journaled events of a run, in order.
Result<std::vector<Event>> read_run(const std::filesystem::path& file, const std::string& run_id);
// The newest run of a name.
struct NamedRun {
  std::string run_id;  // empty: there is none
  std::vector<Event> events = {};
  std::size_t bytes = 0;  // of their texts
};
// Hands over those that began in the folder, name after name, until `take` says false; of one that
// cannot be read, why. The journal is opened once for all of them.
Result<void> read_named(const std::filesystem::path& file,
                        const std::string& folder,
                        std::span<const std::string> names,
                        const std::function<bool(Result<NamedRun>)>& take);
// The same as read_run(), as they are kept: JSON texts.
Result<std::vector<std::string>> read_run_texts(const std::filesystem::path& file,
                                                const std::string& run_id);

}  // namespace agent::store
