// The journal in an SQLite file that many processes may write. The only folder that knows SQL.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace agent::store {

// One writer's connection, for one run; it keeps no secrets. Durable means: committed in WAL mode
// (process: survives SIGKILL; full: survives power loss).
class SqliteJournal final : public agent::Journal {
 public:
  // Opens or creates the file (mode 0600, missing folders 0700). storage.io where that fails
  // (`write_failed` where the disk is full or broken),
  // storage.corrupt where the file is no journal of ours or a newer one. The redactor is borrowed.
  static Result<std::unique_ptr<SqliteJournal>> open(const std::filesystem::path& file,
                                                     SessionSpec::Durability durability,
                                                     const Redactor& redactor);
  ~SqliteJournal() override;

  void append(const Event& event) override;
  Result<void> commit() override;

 private:
  struct Impl;
  explicit SqliteJournal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The journaled events of a run, in order. storage.not_found where there is no such run.
Result<std::vector<Event>> read_run(const std::filesystem::path& file, const std::string& run_id);

}  // namespace agent::store
