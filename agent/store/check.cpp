#include "agent/store/check.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/log_fold.h"
#include "agent/store/journal_file.h"
#include "agent/store/keeping.h"
#include "agent/store/owner.h"
#include "agent/store/wal_file.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

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

std::optional<std::uintmax_t> length_before_cut(const fs::path& file, WalLook wal) {
  const auto header = header_of(file);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (!header || error || header->page_size == 0) {
    return std::nullopt;
  }
  const auto page_size = std::uintmax_t{header->page_size};
  const std::uintmax_t there = size / page_size;
  const std::uintmax_t pages = wal.database_pages != 0 ? wal.database_pages : header->pages;
  std::erase_if(wal.pages, [&](std::uint32_t page) { return page <= there || page > pages; });
  std::ranges::sort(wal.pages);
  const auto same = std::ranges::unique(wal.pages);
  wal.pages.erase(same.begin(), same.end());
  return there + wal.pages.size() < pages ? std::optional(pages * page_size) : std::nullopt;
}

// Journals of the first days keep their events by their keys alone.
bool has_rows_by_number(SQLite::Database& database) {
  SQLite::Statement query(database,
                          "SELECT count(*) FROM pragma_index_list('events') WHERE origin = 'u'");
  return query.executeStep() && query.getColumn(0).getInt() != 0;
}

bool has_list_of_runs(SQLite::Database& database) {
  SQLite::Statement query(database, "SELECT 1 FROM sqlite_schema WHERE tbl_name = 'runs'");
  return query.executeStep();
}

// An event as it is kept: its keys, and what it says itself.
struct KeptEvent {
  static constexpr std::string_view k_columns =
      "run_id, seq, json, typeof(run_id) = 'text' AND typeof(seq) = 'integer', time";
  std::string run_id;
  std::int64_t seq = 0;
  std::int64_t time = 0;
  bool has_right_types = true;  // of its keys: no text equals bytes
  Result<Event> event;

  explicit KeptEvent(SQLite::Statement& query)
      : run_id(query.getColumn(0).getString()),
        seq(query.getColumn(1).getInt64()),
        time(query.getColumn(4).getInt64()),
        has_right_types(query.getColumn(3).getInt() != 0),
        event(event_of({query.getColumn(2).getText(),
                        static_cast<std::size_t>(query.getColumn(2).getBytes())})) {}

  bool is_in_its_place() const {
    return event && event->run_id == run_id && event->seq == seq && has_right_types;
  }
};

bool can_be_id(std::string_view text) {
  constexpr std::size_t k_longest = 64;
  return !text.empty() && text.size() <= k_longest && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
  });
}

// Of another one no command can name the run.
bool has_name(const KeptEvent& kept) {
  return kept.has_right_types && can_be_id(kept.run_id);
}

// Whether the event's key is right, where it says something else itself, or what it says; neither
// where it has no place to go to.
enum class RightSide : std::uint8_t { neither, key, words };

// Of journals whose rows have numbers. One side of a damaged event is right: the one that stands
// between its neighbours in time.
class PlaceFinder {
 public:
  explicit PlaceFinder(SQLite::Database& database)
      : taken_(database, "SELECT 1 FROM events WHERE run_id = ? AND seq = ? AND rowid != ?"),
        before_(database, neighbour("<", "DESC")),
        behind_(database, neighbour(">", "ASC")),
        listed_(database, "SELECT 1 FROM runs WHERE run_id = ?") {}

  RightSide side_of(const KeptEvent& kept, std::int64_t row) {
    if (!kept.event) {
      return RightSide::neither;
    }
    const Event& said = *kept.event;
    const bool can_be_key = has_name(kept);
    const bool can_be_said = can_be_id(said.run_id) && said.seq > 0 && is_free(said, row);
    if (!can_be_key || !can_be_said) {
      return can_be_key ? RightSide::key : can_be_said ? RightSide::words : RightSide::neither;
    }
    const bool fits_key = fits(kept.run_id, kept.seq, kept.time, row);
    const bool fits_words = fits(said.run_id, said.seq, kept.time, row);
    if (fits_key == fits_words) {
      return !is_listed(kept.run_id) && is_listed(said.run_id) ? RightSide::words : RightSide::key;
    }
    return fits_key ? RightSide::key : RightSide::words;
  }

 private:
  static std::string neighbour(std::string_view side, std::string_view order) {
    return fmt::format(
        "SELECT {} FROM events WHERE run_id = ? AND seq {} ? AND rowid != ? ORDER BY seq {} LIMIT "
        "1",
        KeptEvent::k_columns,
        side,
        order);
  }

  static SQLite::Statement& bound(SQLite::Statement& query,
                                  const std::string& run_id,
                                  std::int64_t seq,
                                  std::int64_t row) {
    query.tryReset();
    query.bind(1, run_id);
    query.bind(2, seq);
    query.bind(3, row);
    return query;
  }

  bool is_free(const Event& said, std::int64_t row) {
    return !bound(taken_, said.run_id, said.seq, row).executeStep();
  }

  bool is_listed(const std::string& run_id) {
    listed_.tryReset();
    listed_.bind(1, run_id);
    return listed_.executeStep();
  }

  // Nothing where nobody stands there whose own place is known.
  static std::optional<std::int64_t> time_at(SQLite::Statement& query) {
    if (!query.executeStep()) {
      return std::nullopt;
    }
    const KeptEvent found(query);
    return found.is_in_its_place() ? std::optional(found.time) : std::nullopt;
  }

  bool fits(const std::string& run_id, std::int64_t seq, std::int64_t time, std::int64_t row) {
    const auto before = time_at(bound(before_, run_id, seq, row));
    const auto behind = time_at(bound(behind_, run_id, seq, row));
    return (before || behind) && before.value_or(time) <= time && time <= behind.value_or(time);
  }

  SQLite::Statement taken_;
  SQLite::Statement before_;
  SQLite::Statement behind_;
  SQLite::Statement listed_;
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
    std::optional<PlaceFinder> places;
    if (has_rows_by_number(database_)) {
      places.emplace(database_);
    }
    SQLite::Statement query(database_,
                            fmt::format("SELECT {}, {} FROM events ORDER BY run_id, seq",
                                        KeptEvent::k_columns,
                                        places ? "rowid" : "0"));
    std::string run_id;
    std::optional<LogFold> log;  // nothing: no more is to be said of the run
    while (query.executeStep()) {
      ++report_.events;
      const KeptEvent kept(query);
      if (report_.events == 1 || kept.run_id != run_id) {
        run_id = kept.run_id;
        log.emplace();
      }
      if (!kept.is_in_its_place()) {
        add_misplaced(
            kept,
            places ? places->side_of(kept, query.getColumn(5).getInt64()) : RightSide::neither);
        log.reset();
      } else if (log && !fits(*kept.event, *log)) {
        log.reset();
      }
    }
    for (auto& [run_id_of, what] : unfit_) {
      if (!incomplete_.contains(run_id_of)) {
        add(run_id_of, std::move(what), false);
      }
    }
  }

  // As those who carry a run on or import it see it.
  bool fits(const Event& event, LogFold& log) {
    const bool is_first = log.is_empty();
    const std::string why = log.add(event);
    if (!why.empty()) {
      unfit_.emplace_back(
          event.run_id,
          is_first ? std::string("its beginning is missing")
                   : fmt::format("its events do not fit together: event {}: {}", event.seq, why));
    }
    return why.empty();
  }

  void add_misplaced(const KeptEvent& kept, RightSide side) {
    if (side == RightSide::words) {
      add(kept.event->run_id,
          fmt::format("event {} is kept under a damaged key", kept.event->seq),
          true);
      incomplete_.insert(kept.event->run_id);
    } else if (side == RightSide::key) {
      add(kept.run_id, fmt::format("event {} says that it is another one", kept.seq), true);
      incomplete_.insert(kept.run_id);
    } else {
      const bool is_taken_out = has_rows_by_number(database_) && !has_name(kept);
      add(kept.run_id, fmt::format("event {} cannot be read", kept.seq), is_taken_out);
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
  std::vector<std::pair<std::string, std::string>> unfit_;  // runs, and what is wrong with them
  std::set<std::string> incomplete_;  // runs with events under damaged keys: they fit once mended
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
  const auto is_taken = [&] {
    return fs::exists(copy, ignored) || fs::exists(fs::path(copy) += "-wal", ignored);
  };
  for (int number = 2; is_taken(); ++number) {
    copy = fs::path(first) += fmt::format("-{}", number);
  }
  return copy;
}

// As it lies there, with what waits in the -wal file, or that alone.
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
  std::error_code ignored;
  return fs::exists(copy, ignored) ? copy : copy += "-wal";
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

// What an event whose key and words differ becomes.
struct PutBack {
  std::int64_t row = 0;
  std::string run_id;
  std::int64_t seq = 0;
  std::string json;  // with those
};

std::string with_place(std::string_view json, const std::string& run_id, std::int64_t seq) {
  Json event = parse_json(json).value_or(Json::object());
  event["run"] = run_id;
  event["seq"] = seq;
  return dump(event);
}

// Gives events whose keys are damaged the keys that they say themselves, and those that say
// something damaged their keys. Returns what the former were kept under.
std::set<std::string> put_events_back(SQLite::Database& database) {
  std::set<std::string> names;
  if (!has_rows_by_number(database)) {
    return names;
  }
  std::vector<PutBack> events;
  PlaceFinder places(database);
  SQLite::Statement query(database,
                          fmt::format("SELECT {}, rowid FROM events", KeptEvent::k_columns));
  while (query.executeStep()) {
    const KeptEvent kept(query);
    const std::int64_t row = query.getColumn(5).getInt64();
    const RightSide side = kept.is_in_its_place() ? RightSide::neither : places.side_of(kept, row);
    std::string json = query.getColumn(2).getString();
    if (side == RightSide::words) {
      events.push_back({row, kept.event->run_id, kept.event->seq, std::move(json)});
      names.insert(kept.run_id);
    } else if (side == RightSide::key) {
      events.push_back({row, kept.run_id, kept.seq, with_place(json, kept.run_id, kept.seq)});
    }
  }
  SQLite::Statement put(
      database, "UPDATE OR IGNORE events SET run_id = ?, seq = ?, json = ? WHERE rowid = ?");
  for (const PutBack& event : events) {
    put.tryReset();
    put.bind(1, event.run_id);
    put.bind(2, event.seq);
    put.bind(3, event.json);
    put.bind(4, event.row);
    put.exec();
  }
  return names;
}

// Those that have no place to go to, under keys of no run. Once the others are in their places.
void take_out_nameless(SQLite::Database& database) {
  if (!has_rows_by_number(database)) {
    return;
  }
  std::vector<std::int64_t> rows;
  SQLite::Statement query(database,
                          fmt::format("SELECT {}, rowid FROM events", KeptEvent::k_columns));
  while (query.executeStep()) {
    const KeptEvent kept(query);
    if (!kept.is_in_its_place() && !has_name(kept)) {
      rows.push_back(query.getColumn(5).getInt64());
    }
  }
  SQLite::Statement remove(database, "DELETE FROM events WHERE rowid = ?");
  for (const std::int64_t row : rows) {
    remove.tryReset();
    remove.bind(1, row);
    remove.exec();
  }
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
    if (!has_list_of_runs(database)) {
      return;
    }
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
  take_out_nameless(database);
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
  for (const char* part : {"", "-wal", "-shm"}) {  // of a mending that was cut off
    fs::remove(fs::path(fresh) += part, ignored);
  }
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
    lost.push_back(
        {.what = "more may be lost: neither the events nor their index could be read whole"});
  }
  return lost;
}

std::string words_of(const Loss& loss) {
  if (loss.run_id.empty()) {
    return loss.what;
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

// What of a damaged -wal file could not be put back.
std::string words_of(const WalMending& mending) {
  return mending.committed == 0
             ? std::string(
                   "nothing of the -wal file can be recognised: what runs did last is lost, "
                   "and nobody knows how much")
             : fmt::format(
                   "of the -wal file {} of {} pages are lost, and with them what runs did "
                   "last",
                   mending.lost,
                   mending.committed);
}

// What was committed and is not in the file itself, where it can be read only in part.
Result<std::vector<Loss>> mend_what_waits(const fs::path& file) {
  std::vector<Loss> lost;
  TRY_ASSIGN(const WalLook wal, look_into_wal(file));
  if (!wal.is_damaged()) {
    return lost;
  }
  TRY_ASSIGN(const WalMending mending, mend_wal(file));
  if (mending.lost > 0 || mending.committed == 0) {
    lost.push_back({.what = words_of(mending)});
  }
  if (!mending.doubtful.empty()) {
    lost.push_back({.what = fmt::format("pages of the -wal file were damaged, and are as they were "
                                        "found: {} of the journal",
                                        fmt::join(mending.doubtful, ", "))});
  }
  return lost;
}

std::int64_t pages_of(const fs::path& file) {
  const auto header = header_of(file);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return header && !error && header->page_size > 0
             ? static_cast<std::int64_t>(size) / header->page_size
             : 0;
}

// Where the file is gone, one with nothing in it takes its place, and has what its -wal file holds.
Result<std::vector<Loss>> mend_what_is_gone(const fs::path& file) {
  std::vector<Loss> lost;
  TRY_ASSIGN(WalLook wal, look_into_wal(file));
  if (!is_without_journal(file, wal)) {
    return lost;
  }
  TRY(make_file(file, SessionSpec::Durability::full));
  TRY_ASSIGN(lost, mend_what_waits(file));
  TRY_ASSIGN(wal, look_into_wal(file));
  const std::int64_t made = pages_of(file);  // as they are until something is put in
  const std::set<std::uint32_t> there(wal.pages.begin(), wal.pages.end());
  const auto missing = std::max(std::int64_t{wal.database_pages} - made, std::int64_t{0}) -
                       std::ranges::count_if(there, [&](std::int64_t page) {
                         return page > made && page <= wal.database_pages;
                       });
  if (missing > 0) {
    lost.push_back({.what = fmt::format("{} of {} pages were in the file that is gone alone: what "
                                        "stood there is lost",
                                        missing,
                                        wal.database_pages)});
  }
  return lost;
}

// SQLite reads nothing of a file that is shorter than it says: what is missing becomes damage.
Result<void> fill_up(const fs::path& file) {
  std::error_code error;
  TRY_ASSIGN(WalLook wal, look_into_wal(file));
  if (const auto length = length_before_cut(file, std::move(wal))) {
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
      obey_nothing(database);
      sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
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

// Where not even they can be read, the rest says so.
void put_definitions_back(const fs::path& file) {
  try {
    restore_definitions(file);
  } catch (const SQLite::Exception&) {
    return;
  }
}

CheckReport unsound(std::string what) {
  return {.is_sound = false, .findings = {{.what = std::move(what), .can_be_mended = true}}};
}

// What errand asks is always the same: where SQLite does not understand it, the file is not as it
// was made.
bool is_spoilt(const SQLite::Exception& exception) {
  const int kind = exception.getErrorCode() & 0xFF;
  return is_damage(exception) || kind == SQLITE_NOTADB || kind == SQLITE_ERROR;
}

std::string words_of_damage(const WalLook& wal) {
  return wal.has_damaged_header
             ? "the beginning of its -wal file is damaged: without it what runs did last is lost"
             : fmt::format(
                   "its -wal file is damaged behind page {} of {}: what runs did since then "
                   "would be lost",
                   wal.readable,
                   wal.committed);
}

}  // namespace

Result<std::optional<std::uintmax_t>> length_before_cut(const fs::path& file) {
  TRY_ASSIGN(WalLook wal, look_into_wal(file));
  return length_before_cut(file, std::move(wal));
}

Result<CheckReport> check_journal(const fs::path& file) {
  TRY_ASSIGN(WalLook wal, look_into_wal(file));
  if (is_without_journal(file, wal)) {
    return unsound("the file is gone or empty, and what runs have done is in its -wal file");
  }
  if (wal.is_damaged() && header_of(file)) {
    return unsound(words_of_damage(wal));
  }
  if (const auto length = length_before_cut(file, std::move(wal))) {
    std::error_code ignored;
    return unsound(fmt::format(
        "the file is cut off: {} of {} bytes are there", fs::file_size(file, ignored), *length));
  }
  try {
    if (header_of(file)) {
      TRY_ASSIGN(const Foreign foreign, foreign_in(file));
      if (!foreign.what.empty()) {
        CheckReport report =
            unsound(foreign.what + " is none of errand's: it may have changed what is kept");
        report.findings.front().can_be_mended = !foreign.is_in_a_place;
        return report;
      }
    }
    TRY_ASSIGN(SQLite::Database database, open_to_read(file));
    const Transaction snapshot(database, Transaction::Kind::read);
    return Check(database).run();
  } catch (const SQLite::Exception& exception) {
    const bool is_ours = header_of(file) || has_events_behind_its_first_page(file);
    if (is_spoilt(exception) && is_ours) {  // one of an older version is read to be opened
      CheckReport report = unsound(exception.what());
      report.findings.front().can_be_mended = leads_to_events(file) || can_restore_first_page(file);
      return report;
    }
    return failed_here("cannot check", file, exception);
  }
}

Result<Mending> mend_journal(const fs::path& file) {
  TRY_ASSIGN(CheckReport report, check_journal(file));
  if (std::ranges::none_of(report.findings, &Finding::can_be_mended)) {
    finish_removals(file);
    return Mending{.copy = {}, .lost = {}, .after = std::move(report)};
  }
  if (RunClaims(file).is_any_claimed()) {
    return fail(Code::cli_usage,
                fmt::format("a living process has a run in {}", file.string()),
                "wait for its end: `errand runs list --all --status running`");
  }
  TRY_ASSIGN(fs::path copy, keep_copy(file));
  TRY_ASSIGN(std::vector<Loss> lost, mend_what_is_gone(file));
  TRY_ASSIGN(const std::vector<Loss> waiting, mend_what_waits(file));
  lost.insert(lost.end(), waiting.begin(), waiting.end());
  if (!report.is_sound) {
    put_definitions_back(file);
    const bool has_new_definitions = can_restore_first_page(file);
    if (has_new_definitions) {
      TRY(restore_first_page(file));
    }
    TRY_ASSIGN(report, check_journal(file));
    report.is_sound = report.is_sound && !has_new_definitions;  // the version may be another one
  }
  TRY(fill_up(file));
  TRY_ASSIGN(const std::vector<Loss> in_file, mend_by_report(file, report));
  lost.insert(lost.end(), in_file.begin(), in_file.end());
  TRY_ASSIGN(CheckReport after, check_journal(file));
  for (const Loss& loss : lost) {
    after.findings.push_back(
        {.run_id = loss.run_id, .what = words_of(loss), .can_be_mended = false});
  }
  return Mending{.copy = std::move(copy), .lost = std::move(lost), .after = std::move(after)};
}

}  // namespace agent::store
