#include "agent/store/check.h"

#include "agent/store/runs.h"
#include "tests/support/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
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
using tests::finished_tool;
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
      journal->append(event(id, 2 * turn + 1, finished_tool(std::string(700, 'x'))));
    }
    journal->append(event(id, 2 * events + 2, agent::RunFinished{}));
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
  CHECK(words(mended->after) == Words{});
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
  const auto report = check_journal(file);
  REQUIRE(report);
  CHECK(words(*report) == Words{"run-000: event 3 cannot be read !",
                                "run-001: its beginning is missing !",
                                "run-002: turn 2 is missing !",
                                "run-001: the list of runs says something else than its events"});
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(words(mended->after) == Words{"run-000: event 3 cannot be read !",
                                      "run-001: its beginning is missing !",
                                      "run-002: turn 2 is missing !"});
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
  // A page of the events, somewhere in the middle.
  int page = 0;
  {
    SQLite::Database database(file.string());
    page = database
               .execAndGet(
                   "SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf' "
                   "ORDER BY path LIMIT 1 OFFSET 30")
               .getInt();
  }
  REQUIRE(page > 1);
  std::string bytes = bytes_of(file);
  bytes.replace(static_cast<std::size_t>(page - 1) * 4'096, 4'096, std::string(4'096, '\xA5'));
  tests::write_bytes(file, bytes);
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
