#include "agent/store/journal_file.h"

#include "agent/store/check.h"
#include "agent/store/keeping.h"
#include "agent/store/runs.h"
#include "tests/support/journal.h"
#include "tests/support/skip.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using agent::Money;
using agent::store::list_runs;
using agent::store::RunInfo;
using agent::store::RunRow;
using agent::store::RunStatus;
using tests::bytes_of;
using tests::TemporaryFolder;

// Journals as each version wrote them, by an errand of its time. Those of the first days keep their
// events without row numbers.
const fs::path k_samples = fs::path(ERRAND_SOURCE_DIR) / "tests/unit/agent/store/journals";

// Of the first version: a run that ended, one that was stopped by a limit, and
// one that was killed while its tool was at work.
const fs::path k_version_1 = k_samples / "version-1.db";
constexpr const char* k_ended = "01a206b7-b5f3-711d-9a0e-756c834779c6";
constexpr const char* k_stopped = "01a206b7-b626-7237-abf9-8d7d1432b965";
constexpr const char* k_killed = "01a206b7-b67b-7963-a2fa-35924abdbfc2";

std::vector<RunRow> rows_of_version_1() {
  const RunRow all{.agent = "sample", .cwd = "/tmp/v1/work"};
  RunRow ended = all;
  ended.run_id = k_ended;
  ended.started = ended.begun = ended.updated = 1'795'409'032'702;
  ended.finished = 1'795'409'032'702;
  ended.exit_code = 0;
  ended.model = "replay/ok.yaml";
  ended.prompt = "Say hello to you";
  ended.turns = 1;
  ended.cost = std::nullopt;  // the script said nothing of tokens
  RunRow stopped = all;
  stopped.run_id = k_stopped;
  stopped.started = stopped.begun = 1'795'409'032'746;
  stopped.updated = 1'795'409'032'773;
  stopped.finished = 1'795'409'032'773;
  stopped.exit_code = 80;
  stopped.model = "replay/two.yaml";
  stopped.prompt = "Say hello to you";
  stopped.turns = 1;
  stopped.cost = Money::parse("0.0033");
  RunRow killed = all;
  killed.run_id = k_killed;
  killed.started = killed.begun = 1'795'409'032'841;
  killed.updated = 1'795'409'032'842;
  killed.model = "replay/slow.yaml";
  killed.prompt = "Take your time";
  killed.turns = 1;
  killed.cost = Money::parse("0.00165");
  return {killed, stopped, ended};
}

std::vector<RunRow> rows_in(const fs::path& file) {
  const auto runs = list_runs(file, {});
  if (!runs) {
    FAIL(runs.error().message);
  }
  std::vector<RunRow> rows;
  for (const RunInfo& run : *runs) {
    rows.push_back(run.row);
  }
  return rows;
}

std::vector<std::string> texts_in(const fs::path& file) {
  std::vector<std::string> texts;
  for (const RunRow& row : rows_in(file)) {
    const auto of_run = agent::store::read_run_texts(file, row.run_id);
    REQUIRE(of_run);
    texts.insert(texts.end(), of_run->begin(), of_run->end());
  }
  return texts;
}

int version_in(const fs::path& file) {
  return SQLite::Database(file.string()).execAndGet("PRAGMA user_version").getInt();
}

}  // namespace

namespace agent::store {

std::ostream& operator<<(std::ostream& out, const RunRow& row) {
  return out << row.run_id << " begun " << row.begun << " updated " << row.updated << " exit "
             << row.exit_code.value_or(-1) << " turns " << row.turns << " cost "
             << (row.cost ? row.cost->text() : "unknown") << " in " << row.cwd << " model "
             << row.model << " prompt " << row.prompt;
}

}  // namespace agent::store

TEST_CASE("journal file: the first version is brought up to date by a writer", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  fs::copy_file(k_version_1, file);
  const std::vector<std::string> before = texts_in(file);
  REQUIRE(before.size() == 23);
  tests::opened(file);
  CHECK(version_in(file) == 2);
  CHECK(rows_in(file) == rows_of_version_1());
  CHECK(texts_in(file) == before);
  CHECK(SQLite::Database(file.string()).execAndGet("PRAGMA integrity_check").getString() == "ok");
  // And once more: nothing is left to do.
  tests::opened(file);
  CHECK(rows_in(file) == rows_of_version_1());
}

TEST_CASE("journal file: there is a sample of every version", "[agent]") {
  std::set<int> versions;
  for (const auto& sample : fs::directory_iterator(k_samples)) {
    const TemporaryFolder folder;
    fs::copy_file(sample.path(), folder / "journal.db");
    versions.insert(version_in(folder / "journal.db"));
  }
  const TemporaryFolder folder;
  tests::opened(folder / "journal.db");
  std::set<int> all;
  for (int version = 1; version <= version_in(folder / "journal.db"); ++version) {
    all.insert(version);
  }
  CHECK(versions == all);
}

TEST_CASE("journal file: every sample is read, written and mended", "[agent]") {
  for (const auto& sample : fs::directory_iterator(k_samples)) {
    INFO(sample.path().filename().string());
    const TemporaryFolder folder;
    const fs::path file = folder / "journal.db";
    fs::copy_file(sample.path(), file);
    const std::string bytes = bytes_of(file);
    const std::vector<RunRow> rows = rows_in(file);
    const std::vector<std::string> texts = texts_in(file);
    REQUIRE(rows.size() >= 2);
    REQUIRE(texts.size() >= 10);
    CHECK(std::ranges::all_of(rows, [](const RunRow& row) { return row.agent == "sample"; }));
    CHECK(agent::store::check_journal(file)->findings.empty());
    CHECK(bytes_of(file) == bytes);

    CHECK(tests::keep(*tests::opened(file),
                      tests::event("new", 1, agent::RunStarted{.agent_name = "new"})));
    CHECK(rows_in(file).size() == rows.size() + 1);
    CHECK(agent::store::check_journal(file)->findings.empty());

    // As it came, and as it is after that.
    fs::copy_file(sample.path(), folder / "older.db");
    for (const fs::path& damaged : {folder / "older.db", file}) {
      SQLite::Database(damaged.string(), SQLite::OPEN_READWRITE)
          .exec(
              "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES('index', 'damaged', "
              "'runs', 2, 'CREATE INDEX')");
      const auto mended = agent::store::mend_journal(damaged);
      REQUIRE(mended);
      CHECK_FALSE(mended->copy.empty());
      CHECK(mended->lost.empty());
      CHECK(mended->after.findings.empty());
    }
    CHECK(rows_in(folder / "older.db") == rows);
    CHECK(texts_in(folder / "older.db") == texts);
    CHECK(agent::store::remove_runs(
        file, std::vector<std::string>{"new"}, agent::store::Traces::erase));
    CHECK(rows_in(file) == rows);
    CHECK(texts_in(file) == texts);
  }
}

TEST_CASE("journal file: one of the first version is mended in its place", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  fs::copy_file(k_version_1, file);
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE events SET run_id = CAST(x'FF' AS TEXT) WHERE run_id = '" +
            std::string(k_ended) + "'");
  const auto mended = agent::store::mend_journal(file);
  REQUIRE(mended);
  CHECK(mended->after.findings.empty());
  CHECK(rows_in(file) == rows_of_version_1());
}

TEST_CASE("journal file: the first version is read as it is, without a change", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  fs::copy_file(k_version_1, file);
  const std::string before = bytes_of(file);
  CHECK(rows_in(file) == rows_of_version_1());
  CHECK(agent::store::find_run(file, "", "/tmp/v1/work").value() == k_killed);
  CHECK(agent::store::read_run(file, k_stopped)->size() == 10);
  CHECK(bytes_of(file) == before);
  CHECK(version_in(file) == 1);
}

TEST_CASE("journal file: many processes bring it up to date at once", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  fs::copy_file(k_version_1, file);
  int starting_gun[2] = {};  // all start when it closes
  REQUIRE(pipe(starting_gun) == 0);
  std::vector<pid_t> children;
  for (int number = 0; number < 8; ++number) {
    children.push_back(fork());
    REQUIRE(children.back() >= 0);
    if (children.back() == 0) {
      alarm(60);
      close(starting_gun[1]);
      char none = 0;
      if (read(starting_gun[0], &none, 1) != 0) {
        _exit(9);
      }
      auto journal = agent::store::SqliteJournal::open(
          file, agent::SessionSpec::Durability::process, tests::no_secrets());
      _exit(journal && tests::keep(**journal,
                                   tests::event("run-" + std::to_string(number),
                                                1,
                                                agent::RunStarted{.agent_name = "new"}))
                ? 0
                : 1);
    }
  }
  close(starting_gun[0]);
  close(starting_gun[1]);
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const std::vector<RunRow> rows = rows_in(file);
  CHECK(rows.size() == 11);
  const std::vector<RunRow> old = rows_of_version_1();
  CHECK(std::vector<RunRow>(rows.begin(), rows.begin() + 3) == old);
}

TEST_CASE("journal file: a process of the first version goes on with its run", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  fs::copy_file(k_version_1, file);
  SQLite::Database old(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement begins(old,
                           "INSERT INTO runs(run_id, started, agent, prompt) VALUES('old', 7, "
                           "'sample', 'hello') ON CONFLICT(run_id) DO NOTHING");
  SQLite::Statement ends(old, "UPDATE runs SET finished = 9, exit_code = 0 WHERE run_id = 'old'");
  tests::opened(file);
  begins.exec();
  ends.exec();
  const auto run = agent::store::run_info(file, "old");
  REQUIRE(run);
  CHECK(run->status == RunStatus::ok);
  CHECK(run->row.started == 7);
}

TEST_CASE("journal file: what lies on a medium that cannot be written is read all the same",
          "[agent]") {
  const TemporaryFolder folder;
  const int version = GENERATE(1, 2);
  const fs::path file = folder / "journal.db";
  fs::copy_file(k_version_1, file);
  if (version == 2) {
    tests::opened(file, agent::SessionSpec::Durability::full);
  }
  REQUIRE_FALSE(fs::exists(folder / "journal.db-wal"));
  constexpr int k_no_mount = 77;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    const char* path = folder.path().c_str();
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(path, path, nullptr, MS_BIND, nullptr) != 0 ||
        mount("none", path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      _exit(k_no_mount);
    }
    const auto runs = list_runs(file, {});
    const auto events = agent::store::read_run(file, k_stopped);
    const auto journal = agent::store::SqliteJournal::open(
        file, agent::SessionSpec::Durability::process, tests::no_secrets());
    _exit(!runs || runs->size() != 3                                   ? 1
          : runs->at(1).row.cost != Money::parse("0.0033")             ? 2
          : !events || events->size() != 10                            ? 3
          : journal || journal.error().code != agent::Code::storage_io ? 4
                                                                       : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == k_no_mount) {
    tests::skip("no file system can be mounted here");
  }
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("journal file: an event that cannot be read takes nothing else out of its run's row",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  fs::copy_file(k_version_1, file);
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE events SET json = '{\"type\":' WHERE type = 'model.responded'");
  tests::opened(file);
  std::vector<RunRow> expected = rows_of_version_1();
  expected.front().turns = 0;
  expected.front().cost = Money{};
  CHECK(rows_in(file) == expected);
}

namespace {

// Whether another process finds the file locked, as SQLite locks one that it has open.
bool is_locked(const fs::path& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_start = 1'073'741'826;
    lock.l_len = 510;
    const int opened = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    _exit(::fcntl(opened, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status) == 1;
}

}  // namespace

// Without it, the next process that closes the journal takes the -wal file from under the run.
TEST_CASE("journal file: who looks at the file keeps the locks on it", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto journal = tests::opened(file);
  REQUIRE(tests::keep(*journal, tests::event("run-1", 1, agent::Warning{.message = "w"})));
  REQUIRE(is_locked(file));
  CHECK(agent::store::header_of(file)->page_size == 4'096);
  CHECK(agent::store::length_before_cut(file));
  CHECK(agent::store::check_journal(file));
  CHECK(is_locked(file));
}
