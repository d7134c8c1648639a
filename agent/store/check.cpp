#include "agent/store/check.h"

#include "agent/duration.h"
#include "agent/store/journal_file.h"
#include "agent/store/owner.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <utility>
#include <variant>

namespace agent::store {
namespace {

namespace fs = std::filesystem;

constexpr int k_most_damages = 20;  // that SQLite lists

bool is_damage(const SQLite::Exception& exception) {
  return (exception.getErrorCode() & 0xFF) == SQLITE_CORRUPT;
}

// The usual help would send people here.
std::unexpected<Error> failed_here(std::string_view doing,
                                   const fs::path& file,
                                   const SQLite::Exception& exception) {
  auto error = failed(doing, file, exception);
  if (is_damage(exception)) {
    error.error().help =
        "nothing of it can be saved here: put a backup in its place, or move it away: the next run "
        "creates a new one";
  }
  return error;
}

// Of a journal of ours; nothing: it is none.
std::optional<SQLite::Header> header_of(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) {
    return std::nullopt;  // a pipe would be waited for
  }
  try {
    const SQLite::Header header = SQLite::Database::getHeaderInfo(file.string());
    return header.applicationId == k_application_id ? std::optional(header) : std::nullopt;
  } catch (const SQLite::Exception&) {
    return std::nullopt;
  }
}

// How long a journal was that was cut off; nothing: it is no shorter.
std::optional<std::uintmax_t> length_before_cut(const fs::path& file) {
  const auto header = header_of(file);
  if (!header) {
    return std::nullopt;
  }
  const std::uintmax_t length =
      std::uintmax_t{header->pageSizeBytes} * (header->databaseSizePages & 0xFFFF'FFFF);
  std::error_code error;
  return fs::file_size(file, error) < length && !error ? std::optional(length) : std::nullopt;
}

// Journals of the first days keep their events by their keys alone.
bool has_rows_by_number(SQLite::Database& database) {
  SQLite::Statement query(database,
                          "SELECT count(*) FROM pragma_index_list('events') WHERE origin = 'u'");
  return query.executeStep() && query.getColumn(0).getInt() != 0;
}

// An event as it is kept: its keys, and what it says itself.
struct KeptEvent {
  static constexpr std::string_view k_columns =
      "run_id, seq, json, typeof(run_id) = 'text' AND typeof(seq) = 'integer'";
  std::string run_id;
  std::int64_t seq = 0;
  bool has_right_types = true;  // of its keys: no text equals bytes
  Result<Event> event;

  explicit KeptEvent(SQLite::Statement& query)
      : run_id(query.getColumn(0).getString()),
        seq(query.getColumn(1).getInt64()),
        has_right_types(query.getColumn(3).getInt() != 0),
        event(event_of({query.getColumn(2).getText(),
                        static_cast<std::size_t>(query.getColumn(2).getBytes())})) {}

  bool is_in_its_place() const {
    return event && event->run_id == run_id && event->seq == seq && has_right_types;
  }
};

class Check {
 public:
  explicit Check(SQLite::Database& database) : database_(database) {}

  CheckReport run() {
    check_file();
    if (report_.is_sound) {
      read_rows();
      check_events();
      compare_rows();
    }
    return std::move(report_);
  }

 private:
  void add(std::string run_id, std::string what, bool can_be_mended) {
    report_.findings.push_back(
        {.run_id = std::move(run_id), .what = std::move(what), .can_be_mended = can_be_mended});
  }

  // Of a file that is badly damaged SQLite does not even list how.
  void check_file() {
    try {
      list_damages();
    } catch (const SQLite::Exception& exception) {
      if (!is_damage(exception)) {
        throw;
      }
      report_.is_sound = false;
      add({}, exception.what(), true);
    }
  }

  // What an index lacks is no damage of what is kept.
  void list_damages() {
    SQLite::Statement query(database_, fmt::format("PRAGMA integrity_check({})", k_most_damages));
    while (query.executeStep()) {
      // One answer may have several lines, below a headline that names the database.
      const std::string answer = query.getColumn(0).getString();
      for (const std::string_view line : split_lines(answer)) {
        if (line != "ok" && !line.empty() && !line.starts_with("***")) {
          report_.is_sound = report_.is_sound && (line.contains("missing from index") ||
                                                  line.contains("wrong # of entries in index"));
          add({}, std::string(line), true);
        }
      }
    }
  }

  void read_rows() {
    SQLite::Statement query(database_, fmt::format("SELECT {} FROM runs", k_row_columns));
    while (query.executeStep()) {
      RunRow row = row_at(query);
      rows_.emplace(row.run_id, std::move(row));
    }
    report_.runs = static_cast<std::int64_t>(rows_.size());
  }

  void check_events() {
    SQLite::Statement query(
        database_, fmt::format("SELECT {} FROM events ORDER BY run_id, seq", KeptEvent::k_columns));
    const bool can_be_put_back = has_rows_by_number(database_);
    SQLite::Statement place(database_, "SELECT 1 FROM events WHERE run_id = ? AND seq = ?");
    std::string run_id;
    std::int64_t turn = 0;
    while (query.executeStep()) {
      ++report_.events;
      const KeptEvent kept(query);
      const bool is_first = kept.run_id != run_id;
      if (is_first) {
        run_id = kept.run_id;
        turn = 0;
      }
      if (!kept.is_in_its_place()) {
        add_misplaced(kept, can_be_put_back ? &place : nullptr);
        continue;
      }
      if (is_first && !std::holds_alternative<RunStarted>(kept.event->body)) {
        add(run_id, "its beginning is missing", false);
      }
      check_turn(*kept.event, turn);
    }
  }

  void add_misplaced(const KeptEvent& kept, SQLite::Statement* place) {
    bool is_free = place != nullptr && kept.event;
    if (is_free) {
      place->tryReset();
      place->bind(1, kept.event->run_id);
      place->bind(2, kept.event->seq);
      is_free = !place->executeStep();
    }
    if (is_free) {
      add(kept.event->run_id,
          fmt::format("event {} is kept under a damaged key", kept.event->seq),
          true);
    } else {
      add(kept.run_id, fmt::format("event {} cannot be read", kept.seq), false);
    }
  }

  // A turn begins once for each process that was at it.
  void check_turn(const Event& event, std::int64_t& turn) {
    if (const auto* started = std::get_if<TurnStarted>(&event.body)) {
      if (started->turn > turn + 1) {
        add(event.run_id, fmt::format("turn {} is missing", turn + 1), false);
      }
      turn = started->turn;
    }
  }

  void compare_rows() {
    for_each_row(database_, {}, [&](const RunRow& made) {
      const auto found = rows_.find(made.run_id);
      if (found == rows_.end()) {
        add(made.run_id, "it is in no list of runs", true);
      } else if (found->second != made) {
        add(made.run_id, "the list of runs says something else than its events", true);
      }
      if (found != rows_.end()) {
        rows_.erase(found);
      }
    });
    for (const auto& [run_id, row] : rows_) {
      add(run_id, "it is in the list of runs, and has no events", true);
    }
  }

  SQLite::Database& database_;
  std::map<std::string, RunRow> rows_;
  CheckReport report_;
};

std::string stamp_now() {
  std::string text = format_time(std::chrono::system_clock::now());
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text.substr(0, text.find('.')) + "Z";
}

// Several copies may be made within a second.
fs::path name_of_copy(const fs::path& file) {
  const fs::path first = fs::path(file) += ".copy-" + stamp_now();
  fs::path copy = first;
  std::error_code ignored;
  for (int number = 2; fs::exists(copy, ignored); ++number) {
    copy = fs::path(first) += fmt::format("-{}", number);
  }
  return copy;
}

// As it lies there, with what waits in the -wal file.
Result<fs::path> keep_copy(const fs::path& file) {
  fs::path copy = name_of_copy(file);
  for (const char* part : {"", "-wal"}) {
    const fs::path from = fs::path(file) += part;
    std::error_code error;
    if (!fs::exists(from, error)) {
      continue;
    }
    const fs::path to = fs::path(copy) += part;
    if (!fs::copy_file(from, to, error)) {
      return fail(
          Code::storage_io,
          fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.message()),
          "make room, or make the folder writable");
    }
    chmod(to.c_str(), 0600);
  }
  return copy;
}

void make_all_rows(SQLite::Database& database) {
  std::map<std::string, std::optional<Owner>> owners;
  SQLite::Statement query(database, "SELECT run_id, owner FROM runs WHERE owner IS NOT NULL");
  while (query.executeStep()) {
    owners[query.getColumn(0).getString()] = owner_from_text(query.getColumn(1).getString());
  }
  database.exec("DELETE FROM runs");
  for_each_row(database, {}, [&](const RunRow& row) {
    const auto owner = owners.find(row.run_id);
    put_row(database, row, owner == owners.end() ? std::nullopt : owner->second);
  });
}

// Gives events whose keys are damaged the keys that they say themselves, and returns what they were
// kept under.
std::set<std::string> put_events_back(SQLite::Database& database) {
  std::set<std::string> names;
  if (!has_rows_by_number(database)) {
    return names;
  }
  struct Move {
    std::int64_t row;
    std::string run_id;
    std::int64_t seq;
  };
  std::vector<Move> moves;
  SQLite::Statement query(database,
                          fmt::format("SELECT {}, rowid FROM events", KeptEvent::k_columns));
  while (query.executeStep()) {
    const KeptEvent kept(query);
    if (kept.event && !kept.is_in_its_place()) {
      moves.push_back({query.getColumn(4).getInt64(), kept.event->run_id, kept.event->seq});
      names.insert(kept.run_id);
    }
  }
  SQLite::Statement move(database,
                         "UPDATE OR IGNORE events SET run_id = ?, seq = ? WHERE rowid = ?");
  for (const auto& [row, run_id, seq] : moves) {
    move.tryReset();
    move.bind(1, run_id);
    move.bind(2, seq);
    move.bind(3, row);
    move.exec();
  }
  return names;
}

// Whether it came to its end: it stops where the file is damaged.
bool reads_all(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const SQLite::Exception& exception) {
    if (!is_damage(exception)) {
      throw;
    }
    return false;
  }
}

// Hands over the rows up to where they are damaged, from both ends where one way does not reach the
// other one; whether that was all of them. `{0}` is the direction.
template <typename Take>
bool read_both_ways(SQLite::Database& database, fmt::format_string<const char*&> sql, Take take) {
  for (const char* direction : {"ASC", "DESC"}) {
    const bool is_all = reads_all([&] {
      SQLite::Statement query(database, fmt::format(sql, direction));
      while (query.executeStep()) {
        take(query);
      }
    });
    if (is_all) {
      return true;
    }
  }
  return false;
}

// What a file is said to hold, by what lies apart from the events themselves: their index and the
// list of runs.
struct Inventory {
  using Places = std::map<std::int64_t, std::int64_t>;  // of a run's events: number, row
  std::map<std::string, Places> events;
  std::set<std::string> listed;
  std::set<std::string> finished;
  bool has_all_events = true;

  explicit Inventory(SQLite::Database& database) {
    const auto note = [&](SQLite::Statement& query) {
      events[query.getColumn(0).getString()].emplace(query.getColumn(1).getInt64(),
                                                     query.getColumn(2).getInt64());
    };
    has_all_events =
        has_rows_by_number(database)
            ? read_both_ways(database,
                             "SELECT run_id, seq, rowid FROM events INDEXED BY "
                             "sqlite_autoindex_events_1 ORDER BY run_id {0}, seq {0}",
                             note)
            : read_both_ways(
                  database, "SELECT run_id, seq, 0 FROM events ORDER BY run_id {0}, seq {0}", note);
    read_both_ways(database,
                   "SELECT run_id, finished IS NOT NULL FROM runs ORDER BY run_id {0}",
                   [&](SQLite::Statement& query) {
                     listed.insert(query.getColumn(0).getString());
                     if (query.getColumn(1).getInt() != 0) {
                       finished.insert(query.getColumn(0).getString());
                     }
                   });
  }

  const Places& places_of(const std::string& run_id) const {
    static const Places none;
    const auto found = events.find(run_id);
    return found == events.end() ? none : found->second;
  }
};

// Where only keys, indexes and rows are wrong. Returns what was there before rows were made.
Inventory mend_in_place(SQLite::Database& database) {
  Transaction transaction(database, Transaction::Kind::write);
  database.exec("REINDEX");
  const std::set<std::string> damaged_names = put_events_back(database);
  Inventory before(database);
  for (const std::string& name : damaged_names) {
    before.listed.erase(name);  // its events are another run's
  }
  make_all_rows(database);
  transaction.commit();
  return before;
}

// Puts events of a damaged file into a new one.
class Rescue {
 public:
  Rescue(SQLite::Database& from, SQLite::Database& to)
      : from_(from),
        to_(to),
        insert_(to,
                "INSERT OR IGNORE INTO events(run_id, seq, time, type, json) "
                "VALUES(?, ?, ?, ?, ?)") {}

  // Whether no event is lost. What lies between two damages only the index leads to.
  bool run(const Inventory& inventory) {
    const auto take = [&](SQLite::Statement& query) { save(query); };
    if (!has_rows_by_number(from_)) {
      return read_both_ways(
          from_,
          "SELECT run_id, seq, time, type, json FROM events ORDER BY run_id {0}, seq {0}",
          take);
    }
    const bool is_all = read_both_ways(
        from_,
        "SELECT run_id, seq, time, type, json FROM events NOT INDEXED ORDER BY rowid {}",
        take);
    if (!is_all) {
      save_by_index(inventory);
    }
    return is_all;
  }

 private:
  // What is there and can be read: of a file with damages, rows may be others than they say.
  void save(SQLite::Statement& query) {
    const auto event = event_of(query.getColumn(4).getString());
    if (!event || event->run_id != query.getColumn(0).getString() ||
        event->seq != query.getColumn(1).getInt64()) {
      return;
    }
    insert_.tryReset();
    insert_.bind(1, query.getColumn(0).getString());
    insert_.bind(2, query.getColumn(1).getInt64());
    insert_.bind(3, query.getColumn(2).getInt64());
    insert_.bind(4, query.getColumn(3).getString());
    insert_.bind(5, query.getColumn(4).getString());
    insert_.exec();
  }

  void save_by_index(const Inventory& inventory) {
    const Inventory saved(to_);
    SQLite::Statement query(from_,
                            "SELECT run_id, seq, time, type, json FROM events NOT INDEXED "
                            "WHERE rowid = ? AND run_id = ? AND seq = ?");
    for (const auto& [run_id, places] : inventory.events) {
      const Inventory::Places& there = saved.places_of(run_id);
      for (const auto& [seq, row] : places) {
        if (!there.contains(seq)) {
          query.tryReset();
          query.bind(1, row);
          query.bind(2, run_id);
          query.bind(3, seq);
          reads_all([&] {
            if (query.executeStep()) {
              save(query);
            }
          });
        }
      }
    }
  }

  SQLite::Database& from_;
  SQLite::Database& to_;
  SQLite::Statement insert_;
};

// All that can be read, in a new file that takes the place of the damaged one. Whether that is all.
Result<bool> write_anew(SQLite::Database& damaged,
                        const fs::path& file,
                        const Inventory& inventory) {
  const fs::path fresh = fs::path(file) += ".mended";
  std::error_code ignored;
  fs::remove(fresh, ignored);
  bool is_all = false;
  {
    TRY_ASSIGN(SQLite::Database database, open_to_write(fresh, SessionSpec::Durability::full));
    Transaction transaction(database, Transaction::Kind::write);
    is_all = Rescue(damaged, database).run(inventory);
    make_all_rows(database);
    transaction.commit();
  }  // closed: all of it is in the one file
  for (const char* part : {"-wal", "-shm"}) {
    fs::remove(fs::path(file) += part, ignored);
  }
  fs::remove(claims_file(fresh), ignored);
  std::error_code error;
  fs::rename(fresh, file, error);
  if (error) {
    return fail(Code::storage_io,
                fmt::format("cannot put {} in its place: {}", fresh.string(), error.message()));
  }
  return is_all;
}

std::optional<Loss> loss_of(const std::string& run_id,
                            const Inventory& before,
                            const Inventory& after) {
  const Inventory::Places& there = after.places_of(run_id);
  const std::int64_t lost = std::ranges::count_if(
      before.places_of(run_id), [&](const auto& place) { return !there.contains(place.first); });
  const bool has_lost_end = before.finished.contains(run_id) && !after.finished.contains(run_id);
  if (lost == 0 && !there.empty() && !has_lost_end) {
    return std::nullopt;
  }
  return Loss{.run_id = run_id,
              .events_lost = lost > 0 && before.has_all_events ? std::optional(lost) : std::nullopt,
              .events_kept = static_cast<std::int64_t>(there.size())};
}

std::vector<Loss> losses_between(const Inventory& before, const Inventory& after, bool is_all) {
  std::set<std::string> run_ids = before.listed;
  for (const auto& [run_id, places] : before.events) {
    run_ids.insert(run_id);
  }
  std::vector<Loss> lost;
  for (const std::string& run_id : run_ids) {
    if (auto loss = loss_of(run_id, before, after)) {
      lost.push_back(*std::move(loss));
    }
  }
  if (!is_all && !before.has_all_events) {
    lost.emplace_back();
  }
  return lost;
}

std::string words_of(const Loss& loss) {
  if (loss.run_id.empty()) {
    return "more may be lost: neither the events nor their index could be read whole";
  }
  if (loss.events_kept == 0) {
    return loss.events_lost ? fmt::format("the whole run is lost (events: {})", *loss.events_lost)
                            : "the whole run is lost: no event of it can be read";
  }
  return loss.events_lost ? fmt::format("events of it are lost: {} of {}",
                                        *loss.events_lost,
                                        *loss.events_lost + loss.events_kept)
                          : "events of it are lost";
}

// SQLite reads nothing of a file that is shorter than it says: what is missing becomes damage.
Result<void> fill_up(const fs::path& file) {
  std::error_code error;
  if (const auto length = length_before_cut(file)) {
    fs::resize_file(file, *length, error);
  }
  return error ? fail(Code::storage_io,
                      fmt::format("cannot write to {}: {}", file.string(), error.message()))
               : Result<void>();
}

// What that has lost.
Result<std::vector<Loss>> mend_by_report(const fs::path& file, const CheckReport& report) {
  TRY(look_at(file));
  try {
    std::optional<Inventory> before;
    bool is_all = true;
    if (report.is_sound) {
      TRY_ASSIGN(
          SQLite::Database database,
          open_to_write(file, SessionSpec::Durability::full));  // an older one has other rows
      before.emplace(mend_in_place(database));
    } else {
      SQLite::Database database(
          file.string(), SQLite::OPEN_READWRITE, static_cast<int>(k_patience.count()));
      database.exec("PRAGMA writable_schema = ON");  // passes over definitions that are damaged
      before.emplace(database);
      TRY_ASSIGN(is_all, write_anew(database, file, *before));
    }  // closed: it may be of another file than the one that is there now
    TRY_ASSIGN(SQLite::Database mended, open_to_read(file));
    return losses_between(*before, Inventory(mended), is_all);
  } catch (const SQLite::Exception& exception) {
    return failed_here("cannot mend", file, exception);
  }
}

}  // namespace

Result<CheckReport> check_journal(const fs::path& file) {
  if (const auto length = length_before_cut(file)) {
    std::error_code ignored;
    return CheckReport{
        .is_sound = false,
        .findings = {{.what = fmt::format("the file is cut off: {} of {} bytes are there",
                                          fs::file_size(file, ignored),
                                          *length),
                      .can_be_mended = true}}};
  }
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_read(file));
    const Transaction snapshot(database, Transaction::Kind::read);
    return Check(database).run();
  } catch (const SQLite::Exception& exception) {
    if (is_damage(exception) && header_of(file)) {  // one of an older version is read to be opened
      return CheckReport{.is_sound = false,
                         .findings = {{.what = exception.what(), .can_be_mended = true}}};
    }
    return failed_here("cannot check", file, exception);
  }
}

Result<Mending> mend_journal(const fs::path& file) {
  TRY_ASSIGN(CheckReport report, check_journal(file));
  if (std::ranges::none_of(report.findings, &Finding::can_be_mended)) {
    return Mending{.copy = {}, .lost = {}, .after = std::move(report)};
  }
  if (RunClaims(file).is_any_claimed()) {
    return fail(Code::cli_usage,
                fmt::format("a living process has a run in {}", file.string()),
                "wait for its end: `errand runs list --all --status running`");
  }
  TRY_ASSIGN(fs::path copy, keep_copy(file));
  TRY(fill_up(file));
  TRY_ASSIGN(std::vector<Loss> lost, mend_by_report(file, report));
  TRY_ASSIGN(CheckReport after, check_journal(file));
  for (const Loss& loss : lost) {
    after.findings.push_back(
        {.run_id = loss.run_id, .what = words_of(loss), .can_be_mended = false});
  }
  return Mending{.copy = std::move(copy), .lost = std::move(lost), .after = std::move(after)};
}

}  // namespace agent::store
