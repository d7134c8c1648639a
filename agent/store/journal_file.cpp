#include "agent/store/journal_file.h"

#include "agent/absence.h"
#include "agent/descriptor.h"
#include "agent/json.h"
#include "agent/shortage.h"
#include "agent/store/wal_file.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <span>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace agent::store {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// What each version adds to the one before, from an empty file on. What is new in a table has a
// default: a process of the version before may be writing a run, and goes on with it.
constexpr const char* k_events =
    R"(CREATE TABLE events(run_id TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL,
                      type TEXT NOT NULL, json TEXT NOT NULL, UNIQUE(run_id, seq)))";
constexpr const char* k_runs =
    R"(CREATE TABLE runs(run_id TEXT NOT NULL PRIMARY KEY, started INTEGER NOT NULL,
                    agent TEXT NOT NULL, prompt TEXT NOT NULL,
                    finished INTEGER, exit_code INTEGER) WITHOUT ROWID)";
constexpr const char* k_runs_by_time = "CREATE INDEX runs_by_time ON runs(begun)";
constexpr const char* k_runs_by_folder = "CREATE INDEX runs_by_folder ON runs(cwd, begun)";
constexpr const char* k_runs_by_name =
    "CREATE INDEX runs_by_name ON runs(session, begun) WHERE session != ''";

constexpr auto k_version_1 = std::to_array<const char*>({k_events, k_runs});
constexpr auto k_version_2 = std::to_array<const char*>({
    "ALTER TABLE runs ADD COLUMN begun INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN updated INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN model TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN cwd TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN session TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN turns INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN cost INTEGER",  // pico-dollars; null: unknown
    "ALTER TABLE runs ADD COLUMN owner TEXT",    // the last process that had it
    k_runs_by_time,
    k_runs_by_folder,
    k_runs_by_name,
});
constexpr auto k_versions = std::to_array<std::span<const char* const>>({k_version_1, k_version_2});
constexpr int k_version = static_cast<int>(k_versions.size());

// What the statements above leave in a file's list of what is in it, word for word, of each
// version; and what was written in the first days.
struct Entry {
  std::string_view type;
  std::string_view name;
  std::string_view table;
  std::string_view sql;

  bool operator==(const Entry&) const = default;
};
constexpr auto k_entries = std::to_array<Entry>({
    {"table", "events", "events", k_events},
    {"index", "sqlite_autoindex_events_1", "events", ""},
    {"table",
     "events",
     "events",
     R"(CREATE TABLE events(run_id TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL,
                      type TEXT NOT NULL, json TEXT NOT NULL,
                      PRIMARY KEY(run_id, seq)) WITHOUT ROWID)"},
    {"table", "runs", "runs", k_runs},
    {"table",
     "runs",
     "runs",
     R"(CREATE TABLE runs(run_id TEXT NOT NULL PRIMARY KEY, started INTEGER NOT NULL,
                    agent TEXT NOT NULL, prompt TEXT NOT NULL,
                    finished INTEGER, exit_code INTEGER, begun INTEGER NOT NULL DEFAULT 0, )"
     "updated INTEGER NOT NULL DEFAULT 0, model TEXT NOT NULL DEFAULT '', "
     "cwd TEXT NOT NULL DEFAULT '', session TEXT NOT NULL DEFAULT '', "
     "turns INTEGER NOT NULL DEFAULT 0, cost INTEGER, owner TEXT) WITHOUT ROWID"},
    {"index", "runs_by_time", "runs", k_runs_by_time},
    {"index", "runs_by_folder", "runs", k_runs_by_folder},
    {"index", "runs_by_name", "runs", k_runs_by_name},
});
// Those of each version, in the order in which they were made.
constexpr auto k_order_1 = std::to_array<std::size_t>({0, 1, 3});
constexpr auto k_order_2 = std::to_array<std::size_t>({0, 1, 4, 5, 6, 7});

// The table that for_each_row() fills for readers of an older file. It hides the file's own.
constexpr const char* k_rows_in_memory = R"(
  PRAGMA temp_store = MEMORY;
  CREATE TEMP TABLE runs(run_id TEXT NOT NULL PRIMARY KEY, started INTEGER, begun INTEGER,
                         updated INTEGER, finished INTEGER, exit_code INTEGER, agent TEXT,
                         model TEXT, cwd TEXT, session TEXT, prompt TEXT, turns INTEGER,
                         cost INTEGER, owner TEXT) WITHOUT ROWID;
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
    case SQLITE_NOTADB:
      return "name another file, or move this one away: the next run creates a new one";
    case SQLITE_CORRUPT:
      return "`errand runs doctor` says what can be saved; or move the file away: the next run "
             "creates a new one";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds the journal locked";
    case SQLITE_FULL:
      return "make room on the disk";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "make the file and its folder writable";
    default:
      return {};
  }
}

using namespace std::string_view_literals;

// Of SQLite's header: the size of a page, the length in pages, and whose file it is.
constexpr std::size_t k_page_size_at = 16;
constexpr std::size_t k_length_at = 28;
constexpr std::size_t k_application_at = 68;
constexpr std::size_t k_file_header_bytes = 100;
constexpr std::string_view k_mark = "SQLite format 3\0"sv;

std::uint32_t number_at(std::string_view page, std::size_t at, std::size_t bytes = 4) {
  std::uint32_t number = 0;
  for (const char byte : page.substr(at, bytes)) {
    number = number << 8U | static_cast<unsigned char>(byte);
  }
  return number;
}

// The first bytes of a file; fewer where there are none. Through SQLite, which knows what it has
// open: who closes another descriptor of a file takes all locks off it that his process has there.
std::string head_of(const fs::path& file, std::size_t count) {
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  std::vector<std::max_align_t> place(
      static_cast<std::size_t>(system->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const opened = reinterpret_cast<sqlite3_file*>(place.data());
  const std::unique_ptr<const char, void (*)(const char*)> name(
      sqlite3_create_filename(file.c_str(), "", "", 0, nullptr),
      [](const char* made) { sqlite3_free_filename(const_cast<char*>(made)); });
  std::string bytes;
  sqlite3_int64 size = 0;
  if (system->xOpen(
          system, name.get(), opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr) ==
          SQLITE_OK &&
      opened->pMethods->xFileSize(opened, &size) == SQLITE_OK) {
    bytes.resize(std::min(count, static_cast<std::size_t>(size)));
    const int length = static_cast<int>(bytes.size());
    if (opened->pMethods->xRead(opened, bytes.data(), length, 0) != SQLITE_OK) {
      bytes.clear();
    }
  }
  if (opened->pMethods != nullptr) {
    opened->pMethods->xClose(opened);
  }
  return bytes;
}

constexpr std::size_t k_page = 4'096;  // bytes: SQLite's own choice, which nothing here changes

// Where it is the process that may not write more of a file, the disk is not to blame.
std::string help_for_write(int sqlite_code) {
  struct rlimit limit{};
  const bool is_write = sqlite_code == SQLITE_IOERR_WRITE || (sqlite_code & 0xFF) == SQLITE_FULL;
  return is_write && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
             ? fmt::format(
                   "make room on the disk, or raise the limit of a file's size, which is {} "
                   "bytes: `ulimit -f unlimited`",
                   limit.rlim_cur)
             : help_for(sqlite_code);
}

std::unexpected<Error> failed_with_errno(std::string_view doing, const fs::path& path, int number) {
  const bool is_full = number == ENOSPC || number == EDQUOT || number == EIO;
  return agent::fail(agent::error_of(
      number,
      {.code = Code::storage_io,
       .message = fmt::format("{} {}: {}", doing, path.string(), std::strerror(number)),
       .help = help_for(is_full ? SQLITE_FULL : SQLITE_CANTOPEN),
       .write_failed = is_full}));
}

// What errno says some calls after the one that failed: one that waited for a lock, and got it, may
// have left EAGAIN there, which tells nothing.
int shortage_in(int number) {
  return number == EMFILE || number == ENFILE || number == ENOMEM ? number : 0;
}

std::unexpected<Error> not_ours(const fs::path& file, std::string_view why) {
  return agent::fail(Code::storage_corrupt,
                     fmt::format("{} is not a journal of this errand: {}", file.string(), why),
                     "name another file, or move this one away");
}

// The folder and what is missing above it, readable by its owner alone.
Result<void> make_folders(const fs::path& folder) {
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

}  // namespace

std::optional<FileHeader> header_of(const fs::path& file) {
  std::error_code ignored;
  const std::string bytes = fs::is_regular_file(file, ignored)  // a pipe would be waited for
                                ? head_of(file, k_file_header_bytes)
                                : std::string();
  if (bytes.size() < k_file_header_bytes || !bytes.starts_with(k_mark) ||
      std::cmp_not_equal(number_at(bytes, k_application_at), k_application_id)) {
    return std::nullopt;
  }
  const std::uint32_t size = number_at(bytes, k_page_size_at, 2);
  return FileHeader{.page_size = size == 1 ? 65'536 : size, .pages = number_at(bytes, k_length_at)};
}

namespace {

// One of ours that came with wider rights, as in a clone: what SQLite puts beside it gets the same.
Result<void> make_private(const fs::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) == 0 && (status.st_mode & 077) != 0 && header_of(file) &&
      ::chmod(file.c_str(), status.st_mode & 0700) != 0) {
    return failed_with_errno("cannot close to others the journal", file, errno);
  }
  return {};
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

// 0 where the database is still empty. Reads only, and inside a transaction, because another
// process may be making the tables between two reads.
Result<int> version_of(SQLite::Database& database, const fs::path& file) {
  const int application = pragma(database, "application_id");
  const int version = pragma(database, "user_version");
  if (application == k_application_id && version >= 1 && version <= k_version) {
    return version;
  }
  if (application == k_application_id && version > k_version) {
    return agent::fail(
        Code::storage_corrupt,
        fmt::format("{} is not a journal of this errand: a newer one wrote it (version {})",
                    file.string(),
                    version),
        "take that newer errand, or name another file");
  }
  const bool is_empty = application == 0 && version == 0 &&
                        database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  return is_empty ? Result<int>(0) : Result<int>(not_ours(file, "it holds something else"));
}

std::string_view text_in(const SQLite::Column& column) {
  return {column.getText(), static_cast<std::size_t>(column.getBytes())};
}

struct FoundEntry {
  std::int64_t row = 0;
  std::string type;
  std::string name;
  std::string table;
  std::string sql;

  Entry entry() const { return {.type = type, .name = name, .table = table, .sql = sql}; }
};

// In the order in which they were made.
std::vector<FoundEntry> entries_in(SQLite::Database& database) {
  SQLite::Statement query(
      database,
      "SELECT rowid, type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY rowid");
  std::vector<FoundEntry> entries;
  while (query.executeStep()) {
    entries.push_back({.row = query.getColumn(0).getInt64(),
                       .type = query.getColumn(1).getString(),
                       .name = query.getColumn(2).getString(),
                       .table = query.getColumn(3).getString(),
                       .sql = query.getColumn(4).getString()});
  }
  return entries;
}

// The entries that a version has, where these are they but for one, whose words are damaged; empty:
// they are others.
std::span<const std::size_t> order_of(const std::vector<FoundEntry>& found) {
  for (const std::span<const std::size_t> order :
       {std::span<const std::size_t>(k_order_1), std::span<const std::size_t>(k_order_2)}) {
    std::size_t others = 0;
    for (std::size_t at = 0; at < std::min(found.size(), order.size()); ++at) {
      others += found[at].entry() == k_entries[order[at]] ? 0U : 1U;
    }
    if (found.size() == order.size() && others <= 1) {
      return order;
    }
  }
  return {};
}

Foreign foreign_in(SQLite::Database& database) {
  Foreign foreign;
  std::size_t tables = 0;
  const std::vector<FoundEntry> entries = entries_in(database);
  for (const FoundEntry& found : entries) {
    if (std::ranges::find(k_entries, found.entry()) != k_entries.end()) {
      tables += found.type == "table" ? 1U : 0U;
    } else if (foreign.what.empty()) {
      foreign.what = fmt::format("the {} `{}`", one_line(found.type, 20), one_line(found.name, 60));
    }
  }
  foreign.is_in_a_place = !foreign.what.empty() && tables != 2 && order_of(entries).empty();
  return foreign;
}

// A trigger, a view or another table's rules would change what is written and read.
Result<void> check_entries(SQLite::Database& database, const fs::path& file) {
  const std::string foreign = foreign_in(database).what;
  return foreign.empty()
             ? Result<void>()
             : Result<void>(agent::fail(
                   Code::storage_corrupt,
                   fmt::format("the journal {} holds what no errand puts there: {}",
                               file.string(),
                               foreign),
                   "`errand runs doctor` says what can be saved; or move the file away: the next "
                   "run creates a new one"));
}

Result<int> version_now(SQLite::Database& database, const fs::path& file) {
  const Transaction snapshot(database, Transaction::Kind::read);
  return version_of(database, file);
}

void make_rows(SQLite::Database& database) {
  for_each_row(database, {}, [&](const RunRow& row) { put_row(database, row, std::nullopt); });
}

// What the versions after `found` add to an empty file, or to one of that version.
void add_versions(SQLite::Database& database, int found) {
  for (int version = found; version < k_version; ++version) {
    for (const char* statement : k_versions[static_cast<std::size_t>(version)]) {
      database.exec(statement);
    }
  }
  database.exec(fmt::format("PRAGMA application_id = {}", k_application_id));
  database.exec(fmt::format("PRAGMA user_version = {}", k_version));
}

// Many processes may do this at once to the same file: who comes second finds it done.
Result<void> bring_up_to_date(SQLite::Database& database, const fs::path& file) {
  Transaction transaction(database, Transaction::Kind::write);
  TRY_ASSIGN(const int found, version_of(database, file));
  if (found == k_version) {
    return {};
  }
  add_versions(database, found);
  make_rows(database);
  transaction.commit();
  return {};
}

// Where surviving SIGKILL is enough, nothing waits for the disk but a checkpoint: not the end of
// each run, which leaves its events in the -wal file. The next process reads all of that, so it is
// kept short.
void make_durable(SQLite::Database& database, SessionSpec::Durability durability) {
  database.exec("PRAGMA wal_autocheckpoint = 256");  // pages
  // Whoever opens the journal reads all of the -wal file: a large write makes it long once.
  database.exec("PRAGMA journal_size_limit = 1060000");  // bytes: about as many
  if (durability == SessionSpec::Durability::full) {
    database.exec("PRAGMA synchronous = FULL");
    return;
  }
  database.exec("PRAGMA synchronous = NORMAL");
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

// One process at a time makes the file.
Result<RunClaim> claim_making(const fs::path& file) {
  const auto deadline = std::chrono::steady_clock::now() + k_patience;
  for (;;) {
    TRY_ASSIGN(auto claim, RunClaim::take(file, "the making of the file"));
    if (claim) {
      return *std::move(claim);
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return agent::fail(Code::storage_io,
                         fmt::format("another process is creating the journal {}, and does not end",
                                     file.string()),
                         help_for(SQLITE_BUSY));
    }
    std::this_thread::sleep_for(milliseconds{2});
  }
}

// Empty, but whole: what is made in the file's own place would leave a rollback journal where it is
// cut off, which nobody may obey (look_at).
void fill(const fs::path& file, SessionSpec::Durability durability) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA journal_mode = OFF");
  database.exec("PRAGMA synchronous = OFF");
  Transaction transaction(database, Transaction::Kind::write);
  add_versions(database, 0);
  transaction.commit();
  if (durability == SessionSpec::Durability::full) {
    database.exec("PRAGMA synchronous = FULL");
  }
  database.exec("PRAGMA journal_mode = WAL");
}

std::optional<std::int64_t> number_at(SQLite::Statement& query, int column) {
  const SQLite::Column found = query.getColumn(column);
  return found.isNull() ? std::nullopt : std::optional<std::int64_t>(found.getInt64());
}

void bind_number(SQLite::Statement& statement, int at, const std::optional<std::int64_t>& number) {
  if (number) {
    statement.bind(at, *number);
  } else {
    statement.bind(at);
  }
}

// A file of WAL mode whose folder cannot be written has no place for what readers share. Where
// nothing is waiting in its -wal file, and nobody can be writing one, it is read as it lies there.
bool lies_still(const fs::path& file) {
  std::error_code error;
  const auto waiting = fs::file_size(fs::path(file) += "-wal", error);
  return (error || waiting == 0) && access(file.parent_path().c_str(), W_OK) != 0;
}

std::string uri_of(const fs::path& file) {
  std::string uri = "file:";
  for (const char c : fs::absolute(file).string()) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '-' || c == '_';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

struct Reading {
  SQLite::Database database;
  int version = 0;
};

Result<Reading> open_and_look(const fs::path& file, bool lies_there) {
  Reading reading{.database =
                      SQLite::Database(lies_there ? uri_of(file) : file.string(),
                                       SQLite::OPEN_READONLY | (lies_there ? SQLite::OPEN_URI : 0),
                                       static_cast<int>(k_patience.count()))};
  obey_nothing(reading.database);
  TRY_ASSIGN(reading.version, version_now(reading.database, file));
  return reading;
}

Result<Reading> read_or_look_at_it(const fs::path& file) {
  try {
    return open_and_look(file, false);
  } catch (const SQLite::Exception& exception) {
    if ((exception.getErrorCode() & 0xFF) != SQLITE_CANTOPEN || !lies_still(file)) {
      throw;
    }
  }
  return open_and_look(file, true);
}

}  // namespace

std::unexpected<Error> failed(std::string_view doing,
                              const fs::path& file,
                              const SQLite::Exception& exception) {
  const int number = errno;
  const int code = exception.getExtendedErrorCode() != -1 ? exception.getExtendedErrorCode()
                                                          : exception.getErrorCode();
  const int kind = code & 0xFF;
  return agent::fail(agent::error_of(
      kind == SQLITE_CANTOPEN ? shortage_in(number) : 0,
      {.code = code_of(code),
       .message = fmt::format("{} the journal {}: {}", doing, file.string(), exception.what()),
       .help = help_for_write(code),
       .write_failed = kind == SQLITE_FULL || kind == SQLITE_IOERR}));
}

// What is no journal of ours is not even opened: SQLite would wait for a pipe, and obey a rollback
// journal, which may name any file to be deleted. Ours never has one.
Result<void> look_at(const fs::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) {
    return errno == ENOENT && !is_absent(file)
               ? agent::fail(
                     Code::storage_io,
                     fmt::format("{} leads, by a link, to what is not there", file.string()),
                     "put back what it leads to, or take the link away")
               : failed_with_errno("cannot look at the journal", file, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return agent::fail(Code::storage_io,
                       fmt::format("{} is no regular file, as a journal is", file.string()),
                       "name another file, or move this one away");
  }
  const fs::path rollback = fs::path(file) += "-journal";
  if (::lstat(rollback.c_str(), &status) == 0) {
    return agent::fail(
        Code::storage_corrupt,
        fmt::format("{} lies beside the journal, and no errand puts one there", rollback.string()),
        "take it away: it would have SQLite change or delete files");
  }
  return {};
}

Result<void> check_is_there(const fs::path& file) {
  return !is_absent(file) ? Result<void>()
                          : agent::fail(Code::storage_not_found,
                                        fmt::format("there is no journal {}", file.string()));
}

void obey_nothing(SQLite::Database& database) {
  sqlite3* const handle = database.getHandle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

Result<Foreign> foreign_in(const fs::path& file) {
  TRY(look_at(file));
  TRY_ASSIGN(Reading reading, read_or_look_at_it(file));
  return foreign_in(reading.database);
}

void restore_definitions(const fs::path& file) {
  SQLite::Database database(
      file.string(), SQLite::OPEN_READWRITE, static_cast<int>(k_patience.count()));
  database.exec("PRAGMA writable_schema = ON");  // reads definitions that are damaged
  Transaction transaction(database, Transaction::Kind::write);
  const std::vector<FoundEntry> entries = entries_in(database);
  const std::span<const std::size_t> order = order_of(entries);
  SQLite::Statement put(database,
                        "UPDATE sqlite_schema SET type = ?, name = ?, tbl_name = ?, "
                        "sql = nullif(?, '') WHERE rowid = ?");
  for (std::size_t at = 0; at < order.size(); ++at) {
    const Entry& entry = k_entries[order[at]];
    put.tryReset();
    put.bind(1, std::string(entry.type));
    put.bind(2, std::string(entry.name));
    put.bind(3, std::string(entry.table));
    put.bind(4, std::string(entry.sql));
    put.bind(5, entries[at].row);
    put.exec();
  }
  transaction.commit();
}

bool leads_to_events(const fs::path& file) {
  try {
    SQLite::Database database(
        file.string(), SQLite::OPEN_READONLY, static_cast<int>(k_patience.count()));
    obey_nothing(database);
    sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    database.exec("PRAGMA writable_schema = ON");  // passes over definitions that are damaged
    SQLite::Statement(database, "SELECT run_id, seq, time, type, json FROM events LIMIT 1")
        .executeStep();
    return true;
  } catch (const SQLite::Exception&) {
    return false;
  }
}

namespace {

// Of SQLite's header, too: the first free page and their number, the version of what is kept.
constexpr std::size_t k_first_free_at = 32;
constexpr std::size_t k_free_at = 36;
constexpr std::size_t k_version_at = 60;

void put_number(std::string& page, std::size_t at, std::uint32_t number) {
  for (std::size_t byte = 0; byte < 4; ++byte) {
    page[at + byte] = static_cast<char>(number >> (24U - 8U * byte) & 0xFFU);
  }
}

bool is_header_whole(std::string_view page) {
  const std::uint32_t length = number_at(page, k_length_at);
  const std::uint32_t version = number_at(page, k_version_at);
  return page.starts_with(k_mark) && length > 0 && number_at(page, k_first_free_at) <= length &&
         number_at(page, k_free_at) < length && version >= 1 &&
         std::cmp_less_equal(version, k_version) && number_at(page, 24) == number_at(page, 92);
}

}  // namespace

bool has_events_behind_its_first_page(const fs::path& file) {
  constexpr std::size_t k_most_looked_at = 16U << 20;
  const std::string bytes = head_of(file, k_most_looked_at);
  return bytes.size() > k_page && bytes.find(R"("type":"run.started")", k_page) != bytes.npos;
}

bool can_restore_first_page(const fs::path& file) {
  constexpr std::array k_kinds_of_a_table = {'\x05', '\x0D'};  // a page with others below it, rows
  const std::string bytes = head_of(file, k_page + 1);
  return bytes.size() == k_page + 1 &&
         std::ranges::find(k_kinds_of_a_table, bytes.back()) != k_kinds_of_a_table.end();
}

Result<void> restore_first_page(const fs::path& file) {
  const fs::path fresh = fs::path(file) += ".first";
  std::error_code ignored;
  fs::remove(fresh, ignored);  // of a mending that was cut off
  TRY(make_file(fresh, SessionSpec::Durability::process));
  std::string page = head_of(fresh, k_page);
  fs::remove(fresh, ignored);
  fs::remove(claims_file(fresh), ignored);
  const std::string old = head_of(file, k_page);
  if (page.size() != k_page || old.size() != k_page) {
    return failed_with_errno("cannot read", file, EIO);
  }
  if (is_header_whole(old)) {
    // Changes, length and free pages; its version; when it was changed last.
    for (const auto& [begin, end] :
         {std::pair(24U, 40U), std::pair(60U, 64U), std::pair(92U, 100U)}) {
      page.replace(begin, end - begin, old, begin, end - begin);
    }
  } else {
    put_number(
        page, k_length_at, static_cast<std::uint32_t>(fs::file_size(file, ignored) / k_page));
  }
  const Descriptor to(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!to || ::pwrite(to.get(), page.data(), page.size(), 0) != static_cast<ssize_t>(page.size())) {
    return failed_with_errno("cannot write to", file, errno);
  }
  return {};
}

// Beside its place, and put there as a whole.
Result<void> make_file(const fs::path& file, SessionSpec::Durability durability) {
  if (!holds_nothing(file)) {
    return {};
  }
  TRY_ASSIGN(const RunClaim claim, claim_making(file));
  if (!holds_nothing(file)) {
    return {};  // somebody was faster
  }
  std::error_code ignored;
  const fs::path made = fs::path(file) += "-new";
  for (const char* part : {"", "-wal", "-shm"}) {  // of one whose making was cut off
    fs::remove(fs::path(made) += part, ignored);
  }
  // By the umask it might be open to others.
  if (!Descriptor(::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600))) {
    return failed_with_errno("cannot create the journal", file, errno);
  }
  try {
    fill(made, durability);
  } catch (const SQLite::Exception&) {
    fs::remove(made, ignored);
    throw;
  }
  if (::rename(made.c_str(), file.c_str()) != 0) {
    const int why = errno;
    fs::remove(made, ignored);
    return failed_with_errno("cannot create the journal", file, why);
  }
  return {};
}

void BusyPatience::rule(SQLite::Database& database) {
  sqlite3_busy_handler(database.getHandle(), &BusyPatience::goes_on, this);
}

int BusyPatience::goes_on(void* self, int tries) {
  using namespace std::chrono_literals;
  auto& patience = *static_cast<BusyPatience*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) {
    patience.since_ = now;
  }
  if (patience.stop_.stop_requested() && !patience.stopped_) {
    patience.stopped_ = now;
  }
  if (now - patience.since_ >= k_patience ||
      (patience.stopped_ && now - *patience.stopped_ >= k_patience_after_stop)) {
    return 0;
  }
  std::this_thread::sleep_for(tries < 10 ? 1ms : 10ms);
  return 1;
}

Result<SQLite::Database> open_to_write(const fs::path& file,
                                       SessionSpec::Durability durability,
                                       BusyPatience* patience) {
  TRY(make_folders(file.parent_path()));
  TRY(check_wal(file));
  TRY(make_file(file, durability));
  TRY(look_at(file));
  if (access(file.c_str(), W_OK) != 0) {  // SQLite would open it for reading alone
    return failed_with_errno("cannot write to the journal", file, errno);
  }
  TRY(make_private(file));
  TRY(check_claims_file(file));
  SQLite::Database database(
      file.string(), SQLite::OPEN_READWRITE, static_cast<int>(k_patience.count()));
  if (patience != nullptr) {
    patience->rule(database);
  }
  obey_nothing(database);
  TRY_ASSIGN(const int version, version_now(database, file));
  TRY(check_entries(database, file));
  if (version == 0) {
    return not_ours(file, "it is a database with nothing in it");
  }
  make_durable(database, durability);
  if (version < k_version) {
    TRY(bring_up_to_date(database, file));
  }
  return database;
}

Result<SQLite::Database> open_to_read(const fs::path& file) {
  TRY(check_wal(file));
  TRY(check_is_there(file));
  TRY(look_at(file));
  TRY_ASSIGN(Reading reading, read_or_look_at_it(file));
  TRY(check_entries(reading.database, file));
  if (reading.version < k_version) {
    reading.database.exec(k_rows_in_memory);
    if (reading.version > 0) {
      Transaction all(reading.database, Transaction::Kind::read);
      make_rows(reading.database);
      all.commit();
    } else {
      reading.database.exec("CREATE TEMP TABLE events(run_id, seq, time, type, json)");
    }
  }
  return std::move(reading.database);
}

RunRow row_at(SQLite::Statement& query) {
  RunRow row;
  row.run_id = query.getColumn(0).getString();
  row.started = query.getColumn(1).getInt64();
  row.begun = query.getColumn(2).getInt64();
  row.updated = query.getColumn(3).getInt64();
  row.finished = number_at(query, 4);
  if (const auto code = number_at(query, 5)) {
    row.exit_code = static_cast<int>(*code);
  }
  row.agent = query.getColumn(6).getString();
  row.model = query.getColumn(7).getString();
  row.cwd = query.getColumn(8).getString();
  row.session = query.getColumn(9).getString();
  row.prompt = query.getColumn(10).getString();
  row.turns = query.getColumn(11).getInt64();
  row.cost.reset();
  if (const auto picos = number_at(query, 12)) {
    row.cost = Money::from_picos(*picos);
  }
  return row;
}

void put_row(SQLite::Database& database, const RunRow& row, const std::optional<Owner>& owner) {
  SQLite::Statement statement(
      database,
      fmt::format("INSERT INTO runs({}, owner) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                  "ON CONFLICT(run_id) DO UPDATE SET started = excluded.started, "
                  "begun = excluded.begun, updated = excluded.updated, "
                  "finished = excluded.finished, exit_code = excluded.exit_code, "
                  "agent = excluded.agent, model = excluded.model, cwd = excluded.cwd, "
                  "session = excluded.session, prompt = excluded.prompt, "
                  "turns = excluded.turns, cost = excluded.cost, owner = excluded.owner",
                  k_row_columns));
  statement.bind(1, row.run_id);
  statement.bind(2, row.started);
  statement.bind(3, row.begun);
  statement.bind(4, row.updated);
  bind_number(statement, 5, row.finished);
  bind_number(statement, 6, row.exit_code);
  statement.bind(7, row.agent);
  statement.bind(8, row.model);
  statement.bind(9, row.cwd);
  statement.bind(10, row.session);
  statement.bind(11, row.prompt);
  statement.bind(12, row.turns);
  bind_number(statement, 13, row.cost ? std::optional(row.cost->picos()) : std::nullopt);
  if (owner) {
    statement.bind(14, to_text(*owner));
  }
  statement.exec();
}

void for_each_row(SQLite::Database& database,
                  const std::string& run_id,
                  const std::function<void(const RunRow&)>& take) {
  static const Redactor nothing{Environment{}};  // what is in the file was redacted
  SQLite::Statement query(database,
                          fmt::format("SELECT run_id, time, type, json FROM events {} "
                                      "ORDER BY run_id, seq",
                                      run_id.empty() ? "" : "WHERE run_id = ?"));
  if (!run_id.empty()) {
    query.bind(1, run_id);
  }
  RowFold run;
  const auto take_last = [&] {
    if (!run.row().run_id.empty()) {
      take(run.row());
    }
  };
  while (query.executeStep()) {
    const std::int64_t time = query.getColumn(1).getInt64();
    if (const std::string_view id = text_in(query.getColumn(0)); id != run.row().run_id) {
      take_last();
      run = RowFold({.run_id = std::string(id), .started = time, .begun = time}, {});
    }
    run.pass(time);
    if (is_in_rows(text_in(query.getColumn(2)))) {
      const auto event = event_of(text_in(query.getColumn(3)));
      if (event && event->run_id == run.row().run_id) {  // else its key is spoilt
        run.add(*event, nothing);
      }
    }
  }
  take_last();
}

Result<Event> event_of(std::string_view json) {
  const auto parsed = parse_json(json);
  return parsed ? event_from_json(*parsed)
                : Result<Event>(agent::fail(Code::storage_corrupt, "it is not JSON"));
}

}  // namespace agent::store
