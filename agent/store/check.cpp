#include "agent/store/check.h"

#include "agent/duration.h"
#include "agent/store/journal_file.h"
#include "agent/store/owner.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <optional>
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
      if (std::string line = query.getColumn(0).getString(); line != "ok") {
        report_.is_sound = report_.is_sound && (line.contains("missing from index") ||
                                                line.contains("wrong # of entries in index"));
        add({}, std::move(line), true);
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
    SQLite::Statement query(database_, "SELECT run_id, seq, json FROM events ORDER BY run_id, seq");
    std::string run_id;
    std::int64_t turn = 0;
    while (query.executeStep()) {
      ++report_.events;
      const bool is_first = query.getColumn(0).getString() != run_id;
      if (is_first) {
        run_id = query.getColumn(0).getString();
        turn = 0;
      }
      const SQLite::Column text = query.getColumn(2);
      const auto event = event_of({text.getText(), static_cast<std::size_t>(text.getBytes())});
      if (!event || event->run_id != run_id || event->seq != query.getColumn(1).getInt64()) {
        add(run_id, fmt::format("event {} cannot be read", query.getColumn(1).getInt64()), false);
        continue;
      }
      if (is_first && !std::holds_alternative<RunStarted>(event->body)) {
        add(run_id, "its beginning is missing", false);
      }
      check_turn(*event, turn);
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

// As it lies there, with what waits in the -wal file.
Result<fs::path> keep_copy(const fs::path& file) {
  fs::path copy = fs::path(file) += ".copy-" + stamp_now();
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

// Where only indexes and rows are wrong.
void mend_in_place(SQLite::Database& database) {
  Transaction transaction(database, Transaction::Kind::write);
  database.exec("REINDEX");
  make_all_rows(database);
  transaction.commit();
}

// Events one way through the table, from one end up to where it is damaged.
void save_events(SQLite::Database& from, SQLite::Database& to, const char* order) {
  SQLite::Statement insert(
      to, "INSERT OR IGNORE INTO events(run_id, seq, time, type, json) VALUES(?, ?, ?, ?, ?)");
  try {
    SQLite::Statement query(
        from,
        fmt::format(
            "SELECT run_id, seq, time, type, json FROM events NOT INDEXED ORDER BY rowid {}",
            order));
    while (query.executeStep()) {
      insert.tryReset();
      insert.bind(1, query.getColumn(0).getString());
      insert.bind(2, query.getColumn(1).getInt64());
      insert.bind(3, query.getColumn(2).getInt64());
      insert.bind(4, query.getColumn(3).getString());
      insert.bind(5, query.getColumn(4).getString());
      insert.exec();
    }
  } catch (const SQLite::Exception& exception) {
    if (!is_damage(exception)) {
      throw;
    }
  }
}

// All that can be read, in a new file that takes the place of the damaged one.
Result<void> write_anew(SQLite::Database& damaged, const fs::path& file) {
  const fs::path fresh = fs::path(file) += ".mended";
  std::error_code ignored;
  fs::remove(fresh, ignored);
  {
    TRY_ASSIGN(SQLite::Database database, open_to_write(fresh, SessionSpec::Durability::full));
    Transaction transaction(database, Transaction::Kind::write);
    save_events(damaged, database, "ASC");
    save_events(damaged, database, "DESC");
    make_all_rows(database);
    transaction.commit();
  }  // closed: all of it is in the one file
  for (const char* part : {"-wal", "-shm"}) {
    fs::remove(fs::path(file) += part, ignored);
  }
  std::error_code error;
  fs::rename(fresh, file, error);
  if (error) {
    return fail(Code::storage_io,
                fmt::format("cannot put {} in its place: {}", fresh.string(), error.message()));
  }
  return {};
}

Result<void> mend_by_report(const fs::path& file, const CheckReport& report) {
  TRY(look_at(file));
  try {
    SQLite::Database database(
        file.string(), SQLite::OPEN_READWRITE, static_cast<int>(k_patience.count()));
    if (!report.is_sound) {
      return write_anew(database, file);
    }
    mend_in_place(database);
    return {};
  } catch (const SQLite::Exception& exception) {
    return failed("cannot mend", file, exception);
  }
}

}  // namespace

Result<CheckReport> check_journal(const fs::path& file) {
  try {
    TRY_ASSIGN(SQLite::Database database, open_to_read(file));
    const Transaction snapshot(database, Transaction::Kind::read);
    return Check(database).run();
  } catch (const SQLite::Exception& exception) {
    return failed("cannot check", file, exception);
  }
}

Result<Mending> mend_journal(const fs::path& file) {
  TRY_ASSIGN(CheckReport report, check_journal(file));
  if (std::ranges::none_of(report.findings, &Finding::can_be_mended)) {
    return Mending{.copy = {}, .after = std::move(report)};
  }
  if (RunClaims(file).is_any_claimed()) {
    return fail(Code::cli_usage,
                fmt::format("a living process has a run in {}", file.string()),
                "wait for its end: `errand runs list --all --status running`");
  }
  TRY_ASSIGN(fs::path copy, keep_copy(file));
  TRY(mend_by_report(file, report));
  TRY_ASSIGN(CheckReport after, check_journal(file));
  return Mending{.copy = std::move(copy), .after = std::move(after)};
}

}  // namespace agent::store
