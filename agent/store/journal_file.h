// The SQLite file of the journals: how it is made, opened and brought up to date, and what its
// failures are called. For this room alone.
#pragma once
#include "agent/event.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "agent/store/owner.h"
#include "agent/store/run_row.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace agent::store {

constexpr std::chrono::milliseconds k_patience{15'000};  // for other writers, which may be many
// In all, once the work is to stop: what was paid for is to be recorded, and the end to come in
// time.
constexpr std::chrono::milliseconds k_patience_after_stop{3'000};
constexpr int k_application_id = 0x65727264;  // "errd"

// "cannot open the journal FILE: …", with the code that SQLite's one stands for.
std::unexpected<Error> failed(std::string_view doing,
                              const std::filesystem::path& file,
                              const SQLite::Exception& exception);

// Rolls back what was not committed. Waits for other writers at its begin, k_patience at most.
class Transaction {
 public:
  enum class Kind : std::uint8_t { read, write };

  Transaction(SQLite::Database& database, Kind kind) : database_(database) {
    database_.exec(kind == Kind::read ? "BEGIN" : "BEGIN IMMEDIATE");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (is_open_) {
      database_.tryExec("ROLLBACK");
    }
  }
  void commit() {
    database_.exec("COMMIT");
    is_open_ = false;
  }

 private:
  SQLite::Database& database_;
  bool is_open_ = true;
};

// What a journal of ours says at its very beginning; nothing: it is none.
struct FileHeader {
  std::uint32_t page_size = 0;  // bytes
  std::uint32_t pages = 0;
};
std::optional<FileHeader> header_of(const std::filesystem::path& file);

// All of these throw SQLite::Exception, too, which failed() makes an Error of.

// storage.corrupt where SQLite is not to open it. open_to_write() and open_to_read() ask it.
Result<void> look_at(const std::filesystem::path& file);
// storage.not_found where there is nothing: what cannot be looked at is there.
Result<void> check_is_there(const std::filesystem::path& file);

// What a file brings along is not run: no trigger, no view, no function in a table's rules.
void obey_nothing(SQLite::Database& database);

// What no errand puts into the file.
struct Foreign {
  std::string what;            // the first one, such as "the trigger `t`"; empty: there is none
  bool is_in_a_place = false;  // of a table or an index, so that its events cannot be read
};
// Errors as of open_to_read(), which takes no such file.
Result<Foreign> foreign_in(const std::filesystem::path& file);

// Makes a journal with nothing in it where there is no file, or an empty one.
Result<void> make_file(const std::filesystem::path& file, SessionSpec::Durability durability);

// How long a connection waits for other writers: k_patience, and k_patience_after_stop in all where
// the work is being stopped. Outlives the connections that it rules.
class BusyPatience {
 public:
  explicit BusyPatience(std::stop_token stop) : stop_(std::move(stop)) {}
  void rule(SQLite::Database& database);

 private:
  static int goes_on(void* self, int tries);

  const std::stop_token stop_;
  std::chrono::steady_clock::time_point since_;                   // of the lock that is waited for
  std::optional<std::chrono::steady_clock::time_point> stopped_;  // as first seen in a wait
};

// For writers: creates the file (mode 0600, missing folders 0700), and brings an older one up to
// date. storage.corrupt where the file is no journal of ours, or a newer one, where it holds what
// no errand puts there, or as check_wal().
Result<SQLite::Database> open_to_write(const std::filesystem::path& file,
                                       SessionSpec::Durability durability,
                                       BusyPatience* patience = nullptr);  // null: k_patience

// For readers: changes nothing in the file. One of an older version has its rows of runs made anew,
// in memory. storage.not_found where there is no file; storage.corrupt as open_to_write().
Result<SQLite::Database> open_to_read(const std::filesystem::path& file);

// Gives a table or an index its definition again where it is only its words that are damaged: they
// stand in the order in which they were made. A file that holds more, or less, stays as it is.
void restore_definitions(const std::filesystem::path& file);

// Whether the file's definitions lead to the events.
bool leads_to_events(const std::filesystem::path& file);
// Whether restore_first_page() may: the events stand where a journal of this errand has them.
bool can_restore_first_page(const std::filesystem::path& file);
// Whether a file without a header is a journal: events stand behind its first page.
bool has_events_behind_its_first_page(const std::filesystem::path& file);
// Gives the file the first page that a new journal has: all its definitions are there. What the
// file alone knows, as how long it is, stays.
Result<void> restore_first_page(const std::filesystem::path& file);

// Rows of runs, bound and read in one order: k_row_columns.
constexpr std::string_view k_row_columns =
    "run_id, started, begun, updated, finished, exit_code, agent, model, cwd, session, prompt, "
    "turns, cost";
RunRow row_at(SQLite::Statement& query);
// Makes the run's row, or makes it anew.
void put_row(SQLite::Database& database, const RunRow& row, const std::optional<Owner>& owner);

// The rows as the events have them, of one run or (run_id empty) of all, in order. An event that
// cannot be read adds nothing.
void for_each_row(SQLite::Database& database,
                  const std::string& run_id,
                  const std::function<void(const RunRow&)>& take);

// The event that a row holds. storage.corrupt where it is none.
Result<Event> event_of(std::string_view json);

}  // namespace agent::store
