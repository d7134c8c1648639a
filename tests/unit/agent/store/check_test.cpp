#include "agent/store/check.h"

#include "agent/store/owner.h"
#include "agent/store/runs.h"
#include "tests/support/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::store::check_journal;
using agent::store::CheckReport;
using agent::store::Finding;
using agent::store::list_runs;
using agent::store::mend_journal;
using tests::bytes_of;
using tests::event;
using tests::keep;
using tests::opened;
using tests::TemporaryFolder;

void make_journal(const fs::path& file, int runs, int events) {
  const auto journal = opened(file, agent::SessionSpec::Durability::full);
  for (int run = 0; run < runs; ++run) {
    const std::string id = fmt::format("run-{:03}", run);
    journal->append(event(id, 1, agent::RunStarted{.agent_name = "a", .cwd = "/work"}));
    for (int turn = 1; turn <= events; ++turn) {
      journal->append(event(id, 2 * turn, agent::TurnStarted{turn}));
      const agent::Reply reply{.text = std::string(700, 'x')};
      journal->append(event(id, 2 * turn + 1, agent::ModelResponded{.turn = turn, .reply = reply}));
    }
    journal->append(event(id, 2 * events + 2, agent::RunFinished{.result = {.turns = events}}));
    REQUIRE(journal->commit());
  }
}

void change(const fs::path& file, const std::string& sql) {
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(sql);
}

std::vector<std::string> words(const CheckReport& report) {
  std::vector<std::string> found;
  for (const Finding& one : report.findings) {
    found.push_back(one.run_id + ": " + one.what + (one.can_be_mended ? "" : " !"));
  }
  return found;
}

using Words = std::vector<std::string>;

// Leaf pages of the events' table or of their index, in order.
std::vector<int> leaves_of(const fs::path& file, const std::string& name) {
  SQLite::Database database(file.string());
  SQLite::Statement query(
      database, "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path");
  query.bind(1, name);
  std::vector<int> pages;
  while (query.executeStep()) {
    pages.push_back(query.getColumn(0).getInt());
  }
  return pages;
}

void overwrite(const fs::path& file, const std::vector<int>& pages) {
  std::string bytes = bytes_of(file);
  for (const int page : pages) {
    REQUIRE(page > 1);
    bytes.replace(static_cast<std::size_t>(page - 1) * 4'096, 4'096, std::string(4'096, '\xA5'));
  }
  tests::write_bytes(file, bytes);
}

}  // namespace

TEST_CASE("check: a journal that is whole has nothing to be found", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 2);
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("busy", 1, agent::RunStarted{.agent_name = "a"})));
  const auto report = check_journal(file);
  REQUIRE(report);
  CHECK(words(*report) == Words{});
  CHECK(report->runs == 4);
  CHECK(report->events == 3 * 6 + 1);
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(mended->copy.empty());
}

TEST_CASE("check: what the list of runs lacks, or has too much, is found and mended", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 4, 1);
  const auto before = list_runs(file, {});
  change(file, "DELETE FROM runs WHERE run_id = 'run-000'");
  change(file, "UPDATE runs SET turns = 9 WHERE run_id = 'run-001'");
  change(file,
         "INSERT INTO runs(run_id, started, agent, prompt) VALUES('ghost', 1, 'a', 'nothing')");
  const auto report = check_journal(file);
  REQUIRE(report);
  CHECK(words(*report) == Words{"run-000: it is in no list of runs",
                                "run-001: the list of runs says something else than its events",
                                "ghost: it is in the list of runs, and has no events"});
  const std::string damaged = bytes_of(file);
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(words(mended->after) ==
        Words{"ghost: the whole run is lost: no event of it can be read !"});
  REQUIRE(mended->lost.size() == 1);
  CHECK(mended->lost.front().run_id == "ghost");
  CHECK_FALSE(mended->lost.front().events_lost);
  CHECK(bytes_of(mended->copy) == damaged);
  const auto after = list_runs(file, {});
  REQUIRE(after->size() == before->size());
  for (std::size_t at = 0; at < after->size(); ++at) {
    CHECK((*after)[at].row == (*before)[at].row);
  }
}

TEST_CASE("check: events that are lost or cannot be read are found, and nothing else is lost",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 4, 3);
  change(file, "UPDATE events SET json = '{' WHERE run_id = 'run-000' AND seq = 3");
  change(file, "DELETE FROM events WHERE run_id = 'run-001' AND seq = 1");
  change(file, "DELETE FROM events WHERE run_id = 'run-002' AND seq IN (4, 5)");
  const std::string k_gap =
      "run-002: its events do not fit together: event 6: turn 3 cannot follow turn 1 !";
  const auto report = check_journal(file);
  REQUIRE(report);
  CHECK(words(*report) == Words{"run-000: event 3 cannot be read !",
                                "run-001: its beginning is missing !",
                                k_gap,
                                "run-001: the list of runs says something else than its events"});
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(words(mended->after) ==
        Words{"run-000: event 3 cannot be read !", "run-001: its beginning is missing !", k_gap});
  // Found anew from the events alone, whoever has mended the file and when.
  CHECK(words(check_journal(file).value()) == words(mended->after));
  CHECK(agent::store::read_run(file, "run-003").value().size() == 8);
}

TEST_CASE("check: a journal is not mended under a living process", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 1, 1);
  change(file, "DELETE FROM runs");
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("busy", 1, agent::RunStarted{.agent_name = "a"})));
  CHECK(mend_journal(file).error().code == Code::cli_usage);
  CHECK(list_runs(file, {}).value().size() == 1);
}

TEST_CASE("check: of a damaged file all that can be read is saved", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 60, 4);
  overwrite(file, {leaves_of(file, "events").at(30)});
  const std::string bytes = bytes_of(file);
  const auto report = check_journal(file);
  if (!report) {
    FAIL(report.error().message);
  }
  CHECK_FALSE(report->is_sound);
  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  CHECK(bytes_of(mended->copy) == bytes);
  CHECK(mended->after.is_sound);
  // A page holds about five events of this size: they touch two runs at most.
  const auto runs = list_runs(file, {});
  REQUIRE(runs);
  CHECK(runs->size() >= 59);
  CHECK(mended->after.events >= 60 * 10 - 12);
  CHECK(mended->after.events < 60 * 10);
  std::size_t whole = 0;
  for (const auto& run : *runs) {
    const auto events = agent::store::read_run(file, run.row.run_id);
    REQUIRE(events);
    whole += events->size() == 10 ? 1U : 0U;
  }
  CHECK(whole >= 57);
  // And the next run is written to it.
  REQUIRE(keep(*opened(file), event("next", 1, agent::RunStarted{.agent_name = "a"})));
}

TEST_CASE("check: what a damaged file has lost is said, run by run", "[agent]") {
  constexpr int k_runs = 20;
  constexpr std::int64_t k_events = 8;
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, k_runs, 3);
  // Two damages, with whole pages between them.
  const std::vector<int> leaves = leaves_of(file, "events");
  overwrite(file, {leaves.at(8), leaves.at(9), leaves.at(10), leaves.at(16)});
  CHECK(list_runs(file, {}).value().size() == k_runs);
  const auto report = check_journal(file);
  REQUIRE(report);
  for (const Finding& finding : report->findings) {
    CHECK(finding.what.find_first_of("\n*") == std::string::npos);
  }
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(fs::exists(mended->copy));
  // Nothing is lost that is not said, and nothing is said that is not lost.
  std::map<std::string, std::int64_t> lost;
  for (const auto& loss : mended->lost) {
    REQUIRE(loss.events_lost);
    CHECK(*loss.events_lost + loss.events_kept == k_events);
    lost[loss.run_id] = *loss.events_lost;
  }
  std::int64_t all_lost = 0;
  for (int run = 0; run < k_runs; ++run) {
    const std::string id = fmt::format("run-{:03}", run);
    const auto events = agent::store::read_run(file, id);
    const auto kept = events ? static_cast<std::int64_t>(events->size()) : 0;
    INFO(id);
    CHECK(lost[id] == k_events - kept);
    all_lost += k_events - kept;
  }
  CHECK(all_lost > 8);
  CHECK(all_lost < 36);  // about five a page: what lies between the damages is saved
  CHECK(mended->after.events == k_runs * k_events - all_lost);
  std::size_t said = 0;
  std::size_t whole_runs = 0;
  for (const std::string& word : words(mended->after)) {
    said += word.contains(" lost") ? 1U : 0U;
    whole_runs += word.contains("the whole run is lost (events: 8)") ? 1U : 0U;
  }
  CHECK(said == mended->lost.size());
  CHECK(whole_runs > 0);
}

TEST_CASE("check: where the index is damaged as well, what is lost is said as far as it is known",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 400, 1);
  const std::vector<int> leaves = leaves_of(file, "events");
  const std::vector<int> index = leaves_of(file, "sqlite_autoindex_events_1");
  REQUIRE(index.size() > 3);
  overwrite(file, {leaves.at(40), leaves.at(41), leaves.at(42), index.at(1)});
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  REQUIRE_FALSE(mended->lost.empty());
  CHECK(words(mended->after).back() ==
        ": more may be lost: neither the events nor their index could be read whole !");
  for (const auto& loss : mended->lost) {
    CHECK_FALSE(loss.events_lost);
  }
  // The list still names those of which nothing is left.
  const auto is_gone = [](const auto& loss) {
    return !loss.run_id.empty() && loss.events_kept == 0;
  };
  CHECK(static_cast<std::size_t>(std::ranges::count_if(mended->lost, is_gone)) ==
        400 - list_runs(file, {}).value().size());
}

TEST_CASE("check: of a journal that was cut off, what is there is saved", "[agent]") {
  const int percent = GENERATE(10, 40, 75, 99);
  INFO(percent << " % are there");
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  constexpr int k_runs = 200;
  constexpr std::int64_t k_events = 8;
  make_journal(file, k_runs, 3);
  const std::uintmax_t whole = fs::file_size(file);
  const std::uintmax_t there = whole * static_cast<std::uintmax_t>(percent) / 100;
  fs::resize_file(file, there);
  CHECK(words(check_journal(file).value()) ==
        Words{fmt::format(": the file is cut off: {} of {} bytes are there", there, whole)});
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(fs::file_size(mended->copy) == there);
  CHECK_FALSE(fs::exists(agent::store::claims_file(fs::path(file) += ".mended")));
  CHECK(mended->after.is_sound);
  // In the order of the runs, as they were written; each that is there can be read.
  const std::int64_t most = k_runs * k_events * percent / 100;
  CHECK(mended->after.events > most / 2);
  CHECK(mended->after.events < k_runs * k_events);
  const auto runs = list_runs(file, {});
  REQUIRE(runs);
  for (const auto& run : *runs) {
    const auto events = agent::store::read_run(file, run.row.run_id);
    REQUIRE(events);
    CHECK(events->size() <= k_events);
  }
}

TEST_CASE("check: what is no database is not sent to the doctor", "[agent]") {
  const TemporaryFolder folder;
  tests::write_bytes(folder / "garbage.db", std::string(5'000, 'g'));
  const auto error = check_journal(folder / "garbage.db").error();
  CHECK(error.code == Code::storage_corrupt);
  CHECK_THAT(error.help, !Catch::Contains("doctor") && Catch::Contains("move this one away"));
}

TEST_CASE("check: where the definition of an index is damaged, the tables are saved whole",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 20);
  const auto before = list_runs(file, {});
  const std::string damage =
      GENERATE(as<std::string>{},
               "UPDATE sqlite_schema SET sql = 'CREATE INDEX junk' WHERE name = 'runs_by_time'",
               "UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'runs_by_time'",
               "UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'runs_by_time'",
               "DELETE FROM sqlite_schema WHERE name = 'runs_by_time'",
               "UPDATE sqlite_schema SET name = 'nobody' WHERE name = 'sqlite_autoindex_events_1'",
               "UPDATE sqlite_schema SET rootpage = 0 WHERE name = 'sqlite_autoindex_events_1'",
               "DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_events_1'");
  INFO(damage);
  change(file, "PRAGMA writable_schema = ON; " + damage);
  REQUIRE_FALSE(check_journal(file)->findings.empty());
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(mended->lost.empty());
  CHECK(words(mended->after) == Words{});
  CHECK(mended->after.events == 3 * 42);
  const auto after = list_runs(file, {});
  REQUIRE(after->size() == before->size());
  for (std::size_t at = 0; at < after->size(); ++at) {
    CHECK((*after)[at].row == (*before)[at].row);
  }
}

TEST_CASE("check: events under damaged keys are put where they say that they belong", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 1);
  const auto before = list_runs(file, {});
  const std::string damage =
      GENERATE(as<std::string>{},
               "UPDATE events SET run_id = CAST(x'FF41FE' AS TEXT) WHERE run_id = 'run-001'",
               "UPDATE events SET run_id = CAST(x'410042' AS TEXT) WHERE run_id = 'run-001'",
               "UPDATE events SET run_id = x'FF' WHERE run_id = 'run-001'",
               "UPDATE events SET run_id = CAST(run_id AS BLOB) WHERE run_id = 'run-001'",
               "UPDATE events SET run_id = CAST(x'FF' AS TEXT) WHERE run_id = 'run-001'; "
               "UPDATE runs SET run_id = CAST(x'FF' AS TEXT) WHERE run_id = 'run-001'",
               "UPDATE events SET seq = 'third' WHERE run_id = 'run-001' AND seq = 3");
  INFO(damage);
  change(file, damage);
  REQUIRE_FALSE(check_journal(file)->findings.empty());
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(mended->lost.empty());
  CHECK(words(mended->after) == Words{});
  const auto after = list_runs(file, {});
  REQUIRE(after->size() == before->size());
  for (std::size_t at = 0; at < after->size(); ++at) {
    CHECK((*after)[at].row == (*before)[at].row);
  }
  CHECK(agent::store::read_run(file, "run-001")->size() == 4);
}

TEST_CASE("check: events under the key of no run are taken out once, and are in the copy",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 2, 1);
  change(file,
         "INSERT INTO events SELECT CAST(x'FF' AS TEXT), seq, time, type, json FROM events "
         "WHERE run_id = 'run-001'");
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK_FALSE(mended->copy.empty());
  CHECK(words(mended->after) == Words{"\xFF: the whole run is lost (events: 4) !"});
  CHECK(check_journal(mended->copy)->events == 12);
  const auto again = mend_journal(file);
  REQUIRE(again);
  CHECK(again->copy.empty());
  CHECK(words(again->after) == Words{});
}

TEST_CASE("check: an event that says nothing under the key of no run is taken out", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 2, 1);
  change(file,
         "UPDATE events SET run_id = CAST(x'303161FF' AS TEXT), seq = -126, json = '{' "
         "WHERE run_id = 'run-001' AND seq = 3");
  CHECK(words(check_journal(file).value()).front() == "01a\xFF: event -126 cannot be read");
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK_THAT(words(mended->after),
             Catch::VectorContains(std::string("01a\xFF: the whole run is lost (events: 1) !")));
  for (const std::string& found : words(check_journal(file).value())) {
    CHECK_THAT(found, Catch::StartsWith("run-001: "));
  }
  CHECK(list_runs(file, {})->size() == 2);
}

TEST_CASE("check: each mending keeps a copy of its own, also within a second", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 2, 1);
  std::set<fs::path> copies;
  for (int number = 0; number < 5; ++number) {
    change(file, "DELETE FROM runs WHERE run_id = 'run-000'");
    const auto mended = mend_journal(file);
    REQUIRE(mended);
    CHECK(fs::exists(mended->copy));
    copies.insert(mended->copy);
  }
  CHECK(copies.size() == 5);
}

TEST_CASE("check: an event that says something damaged stays where its key and its time have it",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 2);
  const auto texts = agent::store::read_run_texts(file, "run-001");
  const auto before = list_runs(file, {});
  const std::string damage = GENERATE(
      as<std::string>{},
      R"(json = replace(json, '"run":"run-001"', '"run":"run-00#"') WHERE seq = 3)",
      R"(json = replace(json, '"run":"run-001"', '"run":"run-00q"') WHERE seq = 3)",
      R"(json = replace(json, '"run":"run-001"', '"run":"run-002"') WHERE seq = 3)",
      R"(json = replace(json, '"run":"run-001"', '"run":"run-00q"') WHERE seq > 0)",
      R"(json = replace(json, '"run":"run-001"', '"run":"run-00q"') WHERE type = 'run.finished')",
      R"(json = replace(json, '"seq":3', '"seq":9003') WHERE seq = 3)",
      R"(json = replace(json, '"seq":1', '"seq":9') WHERE seq = 1)",
      "run_id = 'run-00q' WHERE seq = 3",
      "seq = 9003 WHERE seq = 3");
  INFO(damage);
  change(file, "UPDATE events SET " + damage + " AND run_id = 'run-001'");
  const auto report = check_journal(file);
  REQUIRE(report);
  REQUIRE_FALSE(report->findings.empty());
  CHECK(std::ranges::all_of(report->findings, &Finding::can_be_mended));
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(mended->lost.empty());
  CHECK(words(mended->after) == Words{});
  CHECK(agent::store::read_run_texts(file, "run-001").value() == texts.value());
  const auto after = list_runs(file, {});
  REQUIRE(after->size() == before->size());
  for (std::size_t at = 0; at < after->size(); ++at) {
    CHECK((*after)[at].row == (*before)[at].row);
  }
}

TEST_CASE("check: a page that the -wal file has is not missing in a file that could not grow",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const fs::path wal = fs::path(file) += "-wal";
  const auto keep_events = [&] {
    const auto journal = opened(file);
    REQUIRE(keep(*journal, event("run-1", 1, agent::RunStarted{.agent_name = "a"})));
    for (int seq = 2; seq < 20; ++seq) {
      REQUIRE(
          keep(*journal, event("run-1", seq, agent::Warning{.message = std::string(3'000, 'x')})));
    }
  };
  keep_events();
  const std::string before = bytes_of(file);
  const std::string waiting = bytes_of(wal);
  change(file, "PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string after = bytes_of(file);
  REQUIRE(after.size() > before.size() + 4'096);
  // A disk that was full: the first page is written, which says how many there are.
  fs::remove(fs::path(file) += "-shm");
  tests::write_bytes(file, after.substr(0, 4'096) + before.substr(4'096));
  tests::write_bytes(wal, waiting);
  CHECK(words(check_journal(file).value()) == Words{});
  CHECK(agent::store::read_run_texts(file, "run-1").value().size() == 19);
  // Without it they are missing.
  fs::remove(wal);
  CHECK_THAT(words(check_journal(file).value()).at(0), Catch::Contains("the file is cut off"));
}

TEST_CASE("check: what no errand puts into a journal is not obeyed, and is taken out", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 1);
  const auto [name, sql] = GENERATE(table<std::string, std::string>(
      {{"the trigger `t`",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE seq > 1; END"},
       {"the view `v`", "CREATE VIEW v AS SELECT * FROM events"},
       {"the table `more`", "CREATE TABLE more(x)"},
       {"the index `once`", "CREATE INDEX once ON events(time)"}}));
  change(file, sql);
  const auto listed = list_runs(file, {});
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == Code::storage_corrupt);
  CHECK_THAT(listed.error().message, Catch::Contains(name));
  const auto writing = agent::store::SqliteJournal::open(
      file, agent::SessionSpec::Durability::process, tests::no_secrets());
  REQUIRE_FALSE(writing);
  CHECK_THAT(writing.error().message, Catch::Contains(name));
  const auto report = check_journal(file);
  REQUIRE(report);
  CHECK(words(*report) ==
        Words{": " + name + " is none of errand's: it may have changed what is kept"});
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(words(mended->after) == Words{});
  CHECK(list_runs(file, {}).value().size() == 3);
}

TEST_CASE("check: a trigger that comes while a run is written does nothing", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run-1", 1, agent::RunStarted{.agent_name = "a"})));
  change(
      file,
      "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE seq = new.seq; END");
  REQUIRE(keep(*journal, event("run-1", 2, agent::TurnStarted{1})));
  change(file, "DROP TRIGGER t");
  CHECK(agent::store::read_run_texts(file, "run-1").value().size() == 2);
}

TEST_CASE("check: a view in a table's place is refused", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 1, 1);
  change(file,
         "ALTER TABLE runs RENAME TO others; CREATE VIEW runs AS SELECT * FROM others, (WITH "
         "RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)");
  CHECK(list_runs(file, {}).error().code == Code::storage_corrupt);
  const auto report = check_journal(file);
  REQUIRE(report);
  CHECK(words(*report) ==
        Words{": the table `others` is none of errand's: it may have changed what is kept !"});
  CHECK(mend_journal(file)->copy.empty());
}

TEST_CASE("check: where the first page is damaged or a table is gone, no event is lost",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 20);
  const auto before = list_runs(file, {});
  const auto damage = GENERATE(std::pair(0, 16),
                               std::pair(16, 4),
                               std::pair(24, 76),
                               std::pair(20, 300),
                               std::pair(0, 512),
                               std::pair(0, 4'096),
                               std::pair(18, 2),
                               std::pair(44, 4),
                               std::pair(56, 4),
                               std::pair(100, 8),
                               std::pair(108, 24),
                               std::pair(100, 3'996),
                               std::pair(0, 0));
  const auto [begin, length] = damage;
  INFO(begin << " " << length);
  if (length == 0) {
    change(file, "DROP TABLE runs");
  } else {
    std::string bytes = bytes_of(file);
    const auto count = static_cast<std::size_t>(length);
    bytes.replace(static_cast<std::size_t>(begin), count, count, '\x07');
    tests::write_bytes(file, bytes);
  }
  const auto report = check_journal(file);
  REQUIRE(report);
  REQUIRE(std::ranges::any_of(report->findings, &Finding::can_be_mended));
  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  CHECK(mended->lost.empty());
  CHECK(words(mended->after) == Words{});
  CHECK(mended->after.events == 3 * 42);
  const auto after = list_runs(file, {});
  REQUIRE(after->size() == before->size());
  for (std::size_t at_run = 0; at_run < after->size(); ++at_run) {
    CHECK((*after)[at_run].row == (*before)[at_run].row);
  }
}

TEST_CASE("check: what cannot be mended is not said to be", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 20);
  std::string bytes = bytes_of(file);
  bytes.replace(100, 4'096, 4'096, '\xA5');  // the definitions, and where the events begin
  tests::write_bytes(file, bytes);
  const auto report = check_journal(file);
  REQUIRE(report);
  CHECK(std::ranges::none_of(report->findings, &Finding::can_be_mended));
  CHECK(mend_journal(file)->copy.empty());
  CHECK(bytes_of(file) == bytes);
}

TEST_CASE("check: where the definition of a table is damaged, nothing is lost", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_journal(file, 3, 20);
  const auto before = list_runs(file, {});
  const auto [text, damaged] = GENERATE(table<std::string, std::string>(
      {{"TABLE events(run_id TEXT", "TABLE eventz(run_id TEXT"},
       {"TABLE events(run_id TEXT", "TABLE events(run#id TEXT"},
       {"seq INTEGER NOT NULL, time", "seq INTEGER NOT NULL; time"},
       {"seq INTEGER NOT NULL, time", "sea INTEGER NOT NULL, time"},
       {"json TEXT NOT NULL, UNIQUE", "json TEXT NOT NULL, UMIQUE"},
       {"tableruns", "tablerunz"},
       {"agent TEXT NOT NULL, prompt", "agenz TEXT NOT NULL, prompt"},
       {"WITHOUT ROWID", "WITHOUT ROWIX"}}));
  INFO(damaged);
  std::string bytes = bytes_of(file);
  const std::size_t at = bytes.find(text);
  REQUIRE(at < 4'096);
  bytes.replace(at, text.size(), damaged);
  tests::write_bytes(file, bytes);
  const auto report = check_journal(file);
  REQUIRE(report);
  REQUIRE_FALSE(report->findings.empty());
  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  CHECK(bytes_of(mended->copy) == bytes);
  CHECK(mended->lost.empty());
  CHECK(words(mended->after) == Words{});
  CHECK(mended->after.events == 3 * 42);
  const auto after = list_runs(file, {});
  REQUIRE(after->size() == before->size());
  for (std::size_t at_run = 0; at_run < after->size(); ++at_run) {
    CHECK((*after)[at_run].row == (*before)[at_run].row);
  }
}
