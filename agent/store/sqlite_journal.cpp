#include "agent/store/sqlite_journal.h"

#include "agent/text.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>

namespace agent::store {
namespace {

using std::chrono::milliseconds;

constexpr int k_application_id = 0x65727264;  // "errd"
constexpr int k_version = 1;
constexpr milliseconds k_patience{5'000};      // for other writers
constexpr std::size_t k_prompt_excerpt = 200;  // bytes

constexpr const char* k_schema = R"(
  CREATE TABLE events(run_id TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL,
                      type TEXT NOT NULL, json TEXT NOT NULL, UNIQUE(run_id, seq));
  CREATE TABLE runs(run_id TEXT NOT NULL PRIMARY KEY, started INTEGER NOT NULL,
                    agent TEXT NOT NULL, prompt TEXT NOT NULL,
                    finished INTEGER, exit_code INTEGER) WITHOUT ROWID;
)";

// What SQLite says, in the terms of the error table.
Code code_of(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_NOMEM:
      return Code::os_failed;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::storage_corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
      return Code::storage_io;
    default:
      return Code::storage_other;
  }
}

std::string help_for(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "move the file away; the next run creates a new one";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds the journal locked";
    case SQLITE_FULL:
      return "make room on the disk";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "make the file and its folder writable, or run with --no-session";
    default:
      return {};
  }
}

std::unexpected<Error> failed(std::string_view doing,
                              const std::filesystem::path& file,
                              const SQLite::Exception& exception) {
  const int code = exception.getExtendedErrorCode() != -1 ? exception.getExtendedErrorCode()
                                                          : exception.getErrorCode();
  const int kind = code & 0xFF;
  return agent::fail(
      {.code = code_of(code),
       .message = fmt::format("{} the journal {}: {}", doing, file.string(), exception.what()),
       .help = help_for(code),
       .write_failed = kind == SQLITE_FULL || kind == SQLITE_IOERR});
}

std::unexpected<Error> failed_with_errno(std::string_view doing,
                                         const std::filesystem::path& path,
                                         int number) {
  const bool is_full = number == ENOSPC || number == EDQUOT || number == EIO;
  return agent::fail(
      {.code = Code::storage_io,
       .message = fmt::format("{} {}: {}", doing, path.string(), std::strerror(number)),
       .help = help_for(is_full ? SQLITE_FULL : SQLITE_CANTOPEN),
       .write_failed = is_full});
}

std::unexpected<Error> not_ours(const std::filesystem::path& file, std::string_view why) {
  return agent::fail(Code::storage_corrupt,
                     fmt::format("{} is not a journal of this errand: {}", file.string(), why),
                     "name another file, or move this one away");
}

// The folder and what is missing above it, readable by its owner alone.
Result<void> make_folders(const std::filesystem::path& folder) {
  if (folder.empty() || mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) {
    return {};
  }
  if (errno != ENOENT || folder == folder.parent_path()) {
    return failed_with_errno("cannot create the folder", folder, errno);
  }
  TRY(make_folders(folder.parent_path()));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed_with_errno("cannot create the folder", folder, errno);
  }
  return {};
}

// An empty file with the right mode: SQLite would make it by the umask. One that exists is never
// opened here, because closing it would drop the locks that this process has on it.
Result<void> make_file(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) {
    close(descriptor);
  } else if (errno != EEXIST) {
    return failed_with_errno("cannot create the journal", file, errno);
  }
  return {};
}

std::int64_t to_milliseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

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

// Whether the database is one of ours; false where it is still empty. Reads only, and inside a
// transaction, because another process may be making the tables between two reads.
Result<bool> is_journal(SQLite::Database& database, const std::filesystem::path& file) {
  const int application = pragma(database, "application_id");
  const int version = pragma(database, "user_version");
  if (application == k_application_id && version == k_version) {
    return true;
  }
  if (application == k_application_id && version > k_version) {
    return not_ours(file, fmt::format("a newer one wrote it (version {})", version));
  }
  const bool is_empty = application == 0 && version == 0 &&
                        database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  return is_empty ? Result<bool>(false) : Result<bool>(not_ours(file, "it holds something else"));
}

Result<bool> is_journal_now(SQLite::Database& database, const std::filesystem::path& file) {
  const Transaction snapshot(database, Transaction::Kind::read);
  return is_journal(database, file);
}

// Switching to WAL needs the file for itself for a moment, and SQLite does not wait for that.
void switch_to_wal(SQLite::Database& database) {
  const auto deadline = std::chrono::steady_clock::now() + k_patience;
  for (;;) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (const SQLite::Exception& exception) {
      if (exception.getErrorCode() != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) {
        throw;
      }
    }
    std::this_thread::sleep_for(milliseconds{2});
  }
}

// Many processes may do this at once to the same new file: who comes second finds it done.
Result<void> create(SQLite::Database& database, const std::filesystem::path& file) {
  switch_to_wal(database);
  Transaction transaction(database, Transaction::Kind::write);
  TRY_ASSIGN(const bool is_done, is_journal(database, file));
  if (is_done) {
    return {};
  }
  database.exec(k_schema);
  database.exec(fmt::format("PRAGMA application_id = {}", k_application_id));
  database.exec(fmt::format("PRAGMA user_version = {}", k_version));
  transaction.commit();
  return {};
}

Result<std::vector<Event>> read_events(SQLite::Database& database,
                                       const std::filesystem::path& file,
                                       const std::string& run_id) {
  SQLite::Statement query(database, "SELECT seq, json FROM events WHERE run_id = ? ORDER BY seq");
  query.bind(1, run_id);
  std::vector<Event> events;
  while (query.executeStep()) {
    const SQLite::Column text = query.getColumn(1);
    const auto json = parse_json({text.getText(), static_cast<std::size_t>(text.getBytes())});
    auto event = json ? event_from_json(*json)
                      : Result<Event>(agent::fail(Code::storage_corrupt, "it is not JSON"));
    if (!event) {
      return agent::fail(
          std::move(event).error().while_(fmt::format("reading event {} of run {} in {}",
                                                      query.getColumn(0).getInt64(),
                                                      run_id,
                                                      file.string())));
    }
    events.push_back(std::move(*event));
  }
  return events;
}

// What an event leaves in the tables: its row, and what whoever lists runs wants to know without
// reading their events.
struct Row {
  std::string run_id;
  std::int64_t seq = 0;
  std::int64_t time = 0;
  std::string_view type;
  std::string json;
  std::optional<std::pair<std::string, std::string>> begins;  // agent, prompt
  std::optional<int> ends;                                    // exit code
};

Row row_of(const Event& event, const Redactor& redactor) {
  Row row{.run_id = event.run_id,
          .seq = event.seq,
          .time = to_milliseconds(event.time),
          .type = type_name(event.body),
          .json = redactor.dump(dump(event, Detail::kept),
                                [&] { return to_json(event, Detail::kept); })};
  if (const auto* started = std::get_if<RunStarted>(&event.body)) {
    const std::string prompt = redactor.apply(started->prompt);
    row.begins.emplace(started->agent_name, prefix(prompt, k_prompt_excerpt));
  } else if (const auto* finished = std::get_if<RunFinished>(&event.body)) {
    row.ends = finished->result.exit_code;
  }
  return row;
}

}  // namespace

struct SqliteJournal::Impl {
  Impl(const std::filesystem::path& path, const Redactor& secrets)
      : file(path),
        redactor(secrets),
        database(path.string(), SQLite::OPEN_READWRITE, static_cast<int>(k_patience.count())) {}

  // Where surviving SIGKILL is enough, nothing waits for the disk but a checkpoint: not the making
  // of the file, and not the end of each run, which leaves its events in the -wal file.
  void make_durable(SessionSpec::Durability durability, bool is_new) {
    if (durability == SessionSpec::Durability::full) {
      database.exec("PRAGMA synchronous = FULL");
      return;
    }
    database.exec(is_new ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = NORMAL");
    sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }

  void prepare_insert() {
    insert.emplace(database,
                   "INSERT INTO events(run_id, seq, time, type, json) VALUES(?, ?, ?, ?, ?)");
  }

  void prepare() {
    prepare_insert();
    begin.emplace(database, "BEGIN IMMEDIATE");
    end.emplace(database, "COMMIT");
  }

  // Undone as a whole where it fails.
  void write_all(const std::vector<Row>& rows) {
    begin->tryReset();
    begin->exec();
    try {
      for (const Row& row : rows) {
        write(row);
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
    if (std::ranges::any_of(rows, [](const Row& row) { return row.json.size() > k_large; })) {
      prepare_insert();  // a statement keeps as much memory as it needed once
    }
  }

  void write(const Row& row) {
    insert->tryReset();
    insert->bindNoCopy(1, row.run_id);
    insert->bind(2, row.seq);
    insert->bind(3, row.time);
    insert->bind(4, std::string(row.type));
    insert->bindNoCopy(5, row.json);
    insert->exec();
    if (row.begins) {
      note_start(row);
    } else if (row.ends) {
      note_end(row);
    }
  }

  void note_start(const Row& row) {
    SQLite::Statement statement(
        database,
        "INSERT INTO runs(run_id, started, agent, prompt) VALUES(?, ?, ?, ?) "
        "ON CONFLICT(run_id) DO NOTHING");
    statement.bind(1, row.run_id);
    statement.bind(2, row.time);
    statement.bind(3, row.begins->first);
    statement.bind(4, row.begins->second);
    statement.exec();
  }

  void note_end(const Row& row) {
    SQLite::Statement statement(database,
                                "UPDATE runs SET finished = ?, exit_code = ? WHERE run_id = ?");
    statement.bind(1, row.time);
    statement.bind(2, *row.ends);
    statement.bind(3, row.run_id);
    statement.exec();
  }

  std::filesystem::path file;
  const Redactor& redactor;
  SQLite::Database database;
  // Kept: preparing costs more than running them.
  std::optional<SQLite::Statement> insert;
  std::optional<SQLite::Statement> begin;
  std::optional<SQLite::Statement> end;
  std::vector<Row> pending;
};

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const std::filesystem::path& file,
                                                           SessionSpec::Durability durability,
                                                           const Redactor& redactor) {
  TRY(make_folders(file.parent_path()));
  TRY(make_file(file));
  try {
    auto impl = std::make_unique<Impl>(file, redactor);
    TRY_ASSIGN(const bool is_ready, is_journal_now(impl->database, file));
    impl->make_durable(durability, !is_ready);
    if (!is_ready) {
      TRY(create(impl->database, file));
      impl->make_durable(durability, false);
    }
    impl->prepare();
    return std::unique_ptr<SqliteJournal>(new SqliteJournal(std::move(impl)));
  } catch (const SQLite::Exception& exception) {
    return failed("cannot open", file, exception);
  }
}

SqliteJournal::SqliteJournal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteJournal::~SqliteJournal() = default;

void SqliteJournal::append(const Event& event) {
  if (is_journaled(event.body)) {
    impl_->pending.push_back(row_of(event, impl_->redactor));
  }
}

Result<void> SqliteJournal::commit() {
  const std::vector<Row> rows = std::exchange(impl_->pending, {});
  if (rows.empty()) {
    return {};
  }
  try {
    impl_->write_all(rows);
    return {};
  } catch (const SQLite::Exception& exception) {
    impl_->insert->tryReset();
    return failed("cannot write to", impl_->file, exception);
  }
}

Result<std::vector<Event>> read_run(const std::filesystem::path& file, const std::string& run_id) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return agent::fail(Code::storage_not_found,
                       fmt::format("there is no journal {}", file.string()));
  }
  try {
    SQLite::Database database(
        file.string(), SQLite::OPEN_READONLY, static_cast<int>(k_patience.count()));
    const Transaction snapshot(database, Transaction::Kind::read);
    TRY_ASSIGN(const bool is_ready, is_journal(database, file));
    std::vector<Event> events;
    if (is_ready) {
      TRY_ASSIGN(events, read_events(database, file, run_id));
    }
    if (events.empty()) {
      return agent::fail(Code::storage_not_found,
                         fmt::format("there is no run {} in {}", run_id, file.string()));
    }
    return events;
  } catch (const SQLite::Exception& exception) {
    return failed("cannot read", file, exception);
  }
}

}  // namespace agent::store
