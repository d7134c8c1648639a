#include "agent/store/sqlite_journal.h"

#include "agent/duration.h"
#include "agent/store/check.h"
#include "agent/store/journal_file.h"
#include "agent/store/owner.h"
#include "agent/store/run_row.h"
#include "agent/store/wal_file.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stop_token>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace agent::store {
namespace {

struct EventRow {
  std::string run_id;
  std::int64_t seq = 0;
  std::int64_t time = 0;
  std::string_view type;
  std::string json;
};

// A run that is being written.
struct Writing {
  RowFold fold;
  bool is_known = false;   // it goes on from what the file has
  bool has_begun = false;  // by an event that is not yet written, as the next two
  bool has_ended = false;
  bool is_changed = false;
  std::optional<RunClaim> claim;
};

// What was written since may be in it, or not.
std::unexpected<Error> taken_away(std::string message, std::string help) {
  return agent::fail(Error{.code = Code::storage_io,
                           .message = std::move(message),
                           .help = std::move(help),
                           .write_failed = true});
}

std::optional<RunRow> find_row(SQLite::Database& database, const std::string& run_id) {
  SQLite::Statement query(database,
                          fmt::format("SELECT {} FROM runs WHERE run_id = ?", k_row_columns));
  query.bind(1, run_id);
  return query.executeStep() ? std::optional(row_at(query)) : std::nullopt;
}

std::vector<Event> members_told(SQLite::Database& database, const std::string& run_id) {
  SQLite::Statement query(database,
                          "SELECT json FROM events WHERE run_id = ? AND type = ? ORDER BY seq");
  query.bind(1, run_id);
  query.bind(2, std::string(MemberFinished::k_type));
  std::vector<Event> told;
  while (query.executeStep()) {
    if (auto event = event_of(query.getColumn(0).getString())) {
      told.push_back(*std::move(event));
    }
  }
  return told;
}

std::optional<Owner> find_owner(SQLite::Database& database, const std::string& run_id) {
  SQLite::Statement query(database, "SELECT owner FROM runs WHERE run_id = ?");
  query.bind(1, run_id);
  return query.executeStep() ? owner_from_text(query.getColumn(0).getString()) : std::nullopt;
}

// A file by what it is, whatever its name means later.
struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;

  bool operator==(const FileIdentity&) const = default;

  static std::optional<FileIdentity> of(const std::filesystem::path& file) {
    struct stat status{};
    return ::stat(file.c_str(), &status) == 0
               ? std::optional(FileIdentity{.device = status.st_dev, .number = status.st_ino})
               : std::nullopt;
  }
};

// A journal, and what waits beside it.
struct JournalIdentity {
  std::optional<FileIdentity> file;
  std::optional<FileIdentity> waiting;

  bool operator==(const JournalIdentity&) const = default;

  static JournalIdentity of(const std::filesystem::path& file) {
    return {.file = FileIdentity::of(file), .waiting = FileIdentity::of(wal_of(file))};
  }
};

// Whoever waits for the run is told next how it ended.
bool is_ending(const EventRow& event) {
  return event.type == RunFinished::k_type || event.type == RunParked::k_type;
}

EventRow event_row(const Event& event, const Redactor& redactor) {
  return {.run_id = event.run_id,
          .seq = event.seq,
          .time = to_milliseconds(event.time),
          .type = type_name(event.body),
          .json = redactor.dump(dump(event, Detail::kept),
                                [&] { return to_json(event, Detail::kept); })};
}

}  // namespace

struct SqliteJournal::Impl {
  Impl(const std::filesystem::path& path,
       const Redactor& secrets,
       std::unique_ptr<BusyPatience> how_long,
       SQLite::Database opened)
      : file(path), redactor(secrets), patience(std::move(how_long)), database(std::move(opened)) {
    prepare_insert();
    update.emplace(database, "UPDATE runs SET updated = ?, turns = ?, cost = ? WHERE run_id = ?");
    begin.emplace(database, "BEGIN IMMEDIATE");
    end.emplace(database, "COMMIT");
  }

  void prepare_insert() {
    insert.emplace(database,
                   "INSERT INTO events(run_id, seq, time, type, json) VALUES(?, ?, ?, ?, ?)");
  }

  // Goes on from the row in the file, where another process or another object has begun the run.
  Writing& open(const Event& event) {
    Writing& run = runs[event.run_id];
    if (!run.is_known) {
      run.is_known = true;
      run.fold = event.seq > 1 ? fold_before(event.run_id) : RowFold();
    }
    return run;
  }

  // Where the file cannot be read now, the commit says so.
  RowFold fold_before(const std::string& run_id) {
    try {
      return {find_row(database, run_id).value_or(RunRow{}), members_told(database, run_id)};
    } catch (const SQLite::Exception&) {
      return {};
    }
  }

  void note(const Event& event) {
    Writing& run = open(event);
    run.fold.add(event, redactor);
    run.has_begun = run.has_begun || std::holds_alternative<RunStarted>(event.body);
    run.has_ended = std::holds_alternative<RunFinished>(event.body);
    run.is_changed = true;
  }

  Result<void> claim(const std::string& run_id) {
    std::optional<RunClaim>& claim = runs[run_id].claim;
    if (!claim) {
      TRY_ASSIGN(claim, RunClaim::take(file, run_id));
    }
    return claim ? Result<void>()
                 : Result<void>(taken(run_id, living(find_owner(database, run_id), run_id)));
  }

  Result<void> claim_new_runs() {
    for (const auto& [run_id, run] : runs) {
      if (run.has_begun) {
        TRY(claim(run_id));
      }
    }
    return {};
  }

  Result<void> write_claimed(const std::vector<EventRow>& events) {
    try {
      TRY(claim_new_runs());
      TRY(check_claims());
      const bool is_shorter = is_wal_shorter();
      write_all(events);
      wal_size = size_of_wal();
      TRY(is_shorter ? check_wal(file) : Result<void>());
      return std::ranges::any_of(events, is_ending) ? check_end() : Result<void>();
    } catch (const SQLite::Exception& exception) {
      insert->tryReset();
      return failed("cannot write to", file, exception);
    }
  }

  // Without its file, others do not see a claim.
  Result<void> check_claims() const {
    for (const auto& [run_id, run] : runs) {
      if (run.claim && !run.claim->holds(file)) {
        TRY(check_identity());
        return taken_away(
            fmt::format("{} was taken away or replaced while the run was at work: another process "
                        "may have the run {} by now",
                        claims_file(file).string(),
                        run_id),
            "`errand runs show` says how far it is; nothing else may move or remove that file");
      }
    }
    return {};
  }

  // Whoever cuts it off takes what was committed, and SQLite goes on behind the hole. It is shorter
  // also where all of it has gone into the file.
  bool is_wal_shorter() const { return size_of_wal() < wal_size; }

  std::uintmax_t size_of_wal() const { return size_of(wal); }

  static std::uintmax_t size_of(const std::filesystem::path& file) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    return error ? 0 : size;
  }

  // What is written to a file that has another name by now, or none, nobody finds.
  Result<void> check_identity() const {
    if (JournalIdentity::of(file) == identity && !holds_nothing(file)) {
      return {};
    }
    return taken_away(
        fmt::format("the journal {} was taken away or replaced while the run was at work, and "
                    "its end is not in it",
                    file.string()),
        "put back what lay there, where it is only elsewhere; `errand runs doctor` says what is "
        "there now");
  }

  // What stands behind a damage nobody reads.
  Result<void> check_end() const {
    TRY(check_identity());
    TRY(check_wal(file));
    return size_of(file) < file_size ? check_length() : Result<void>();
  }

  // It is shorter also where another process has made room in it.
  Result<void> check_length() const {
    TRY_ASSIGN(const auto length, length_before_cut(file));
    return !length ? Result<void>()
                   : taken_away(fmt::format("the journal {} was cut off while the run was at "
                                            "work: {} of {} bytes are there",
                                            file.string(),
                                            size_of(file),
                                            *length),
                                "`errand runs doctor --fix` saves what is left");
  }

  // Undone as a whole where it fails.
  void write_all(const std::vector<EventRow>& events) {
    begin->tryReset();
    begin->exec();
    try {
      for (const EventRow& event : events) {
        write(event);
      }
      for (const auto& [run_id, run] : runs) {
        write(run);
      }
      end->tryReset();
      end->exec();
    } catch (const SQLite::Exception&) {
      database.tryExec("ROLLBACK");
      throw;
    }
    insert->tryReset();  // lets go of what is borrowed
    insert->clearBindings();
    constexpr std::size_t k_large = 1u << 20;
    if (std::ranges::any_of(events,
                            [](const auto& event) { return event.json.size() > k_large; })) {
      prepare_insert();  // a statement keeps as much memory as it needed once
    }
  }

  void write(const EventRow& event) {
    insert->tryReset();
    insert->bindNoCopy(1, event.run_id);
    insert->bind(2, event.seq);
    insert->bind(3, event.time);
    insert->bind(4, std::string(event.type));
    insert->bindNoCopy(5, event.json);
    insert->exec();
  }

  void write(const Writing& run) {
    if (run.has_begun || run.has_ended) {
      put_row(database, run.fold.row(), run.has_ended ? std::nullopt : std::optional(me));
    } else if (run.is_changed) {
      put_progress(run.fold.row());
    }
  }

  void put_progress(const RunRow& row) {
    update->tryReset();
    update->bind(1, row.updated);
    update->bind(2, row.turns);
    if (row.cost) {
      update->bind(3, row.cost->picos());
    } else {
      update->bind(3);
    }
    update->bindNoCopy(4, row.run_id);
    update->exec();
    update->tryReset();
  }

  // What was written stays; a run that has ended is let go of.
  void settle() {
    std::erase_if(runs, [](const auto& one) { return one.second.has_ended; });
    for (auto& [run_id, run] : runs) {
      run.has_begun = run.is_changed = false;
    }
  }

  // What was folded and could not be written: the rows are those of the file again.
  void forget() {
    for (auto& [run_id, run] : runs) {
      run.is_known = run.has_begun = run.has_ended = run.is_changed = false;
    }
  }

  std::filesystem::path file;
  const Redactor& redactor;
  const Owner me = this_process();
  const std::unique_ptr<BusyPatience> patience;  // of the next
  SQLite::Database database;
  const JournalIdentity identity = JournalIdentity::of(file);
  const std::filesystem::path wal = wal_of(file);  // the one that SQLite has open
  std::uintmax_t wal_size = 0;                     // bytes, behind the last commit
  const std::uintmax_t file_size = size_of(file);  // bytes, when it was opened
  // Kept: preparing costs more than running them.
  std::optional<SQLite::Statement> insert;
  std::optional<SQLite::Statement> update;
  std::optional<SQLite::Statement> begin;
  std::optional<SQLite::Statement> end;
  std::vector<EventRow> pending;
  std::map<std::string, Writing> runs;  // one, but for what writes several in turn
};

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::filesystem::path& file,
                                                           SessionSpec::Durability durability,
                                                           const Redactor& redactor,
                                                           std::stop_token stop) {
  try {
    auto patience = std::make_unique<BusyPatience>(stop);
    TRY_ASSIGN(SQLite::Database database, open_to_write(file, durability, patience.get()));
    return std::unique_ptr<SqliteJournal>(new SqliteJournal(
        std::make_unique<Impl>(file, redactor, std::move(patience), std::move(database))));
  } catch (const SQLite::Exception& exception) {
    if ((exception.getErrorCode() & 0xFF) == SQLITE_BUSY && stop.stop_requested()) {
      return agent::fail(Code::run_cancelled,
                         fmt::format("another process had the journal {} locked", file.string()));
    }
    return failed("cannot open", file, exception);
  }
}

SqliteJournal::SqliteJournal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteJournal::~SqliteJournal() = default;

Result<void> SqliteJournal::claim(const std::string& run_id) {
  try {
    return impl_->claim(run_id);
  } catch (const SQLite::Exception& exception) {
    return failed("cannot read", impl_->file, exception);
  }
}

void SqliteJournal::append(const Event& event) {
  if (is_journaled(event.body)) {
    impl_->pending.push_back(event_row(event, impl_->redactor));
    impl_->note(event);
  }
}

Result<void> SqliteJournal::commit() {
  const std::vector<EventRow> events = std::exchange(impl_->pending, {});
  if (events.empty()) {
    return {};
  }
  auto done = impl_->write_claimed(events);
  if (done) {
    impl_->settle();
  } else {
    impl_->forget();
  }
  return done;
}

}  // namespace agent::store
