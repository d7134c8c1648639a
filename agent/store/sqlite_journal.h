// The journal in an SQLite file that many processes may write. The only folder that knows SQL.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

namespace agent::store {

// One writer's connection, for one run at a time; it keeps no secrets. Durable means: committed in
// WAL mode (process: survives SIGKILL; full: survives power loss).
class SqliteJournal final : public agent::Journal {
 public:
  // Opens or creates the file (mode 0600, missing folders 0700), and brings one of an older version
  // up to date. storage.io where that fails (`write_failed` where the disk is full or broken),
  // storage.corrupt where the file is no journal of ours or a newer one; run.cancelled where others
  // had it locked when the work was being stopped. The redactor is borrowed.
  static Result<std::unique_ptr<SqliteJournal>> open(const std::filesystem::path& file,
                                                     SessionSpec::Durability durability,
                                                     const Redactor& redactor,
                                                     std::stop_token stop = {});
  ~SqliteJournal() override;

  // Takes a run for this process, until it has finished or this object is gone; a run that begins
  // is taken by its first event. cli.usage where a living process has it (which, and since when);
  // what a dead one has left does not count. The run need not be there.
  Result<void> claim(const std::string& run_id);

  void append(const Event& event) override;
  // As the port; as claim(), too, where another process has the run that begins. storage.io at the
  // end of a run where the file is not in its place any more.
  Result<void> commit() override;

 private:
  struct Impl;
  explicit SqliteJournal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace agent::store
