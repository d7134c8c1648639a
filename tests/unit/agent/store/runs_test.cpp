#include "agent/store/runs.h"

#include "tests/support/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Event;
using agent::Money;
using agent::store::find_run;
using agent::store::list_runs;
using agent::store::RunFilter;
using agent::store::RunRow;
using agent::store::RunStatus;
using tests::keep;
using tests::opened;
using tests::TemporaryFolder;

constexpr const char* k_first = "01a20000-0001-7000-8000-000000000001";
constexpr const char* k_second = "01a20000-0002-7000-8000-000000000002";
constexpr const char* k_third = "01a20000-0003-7000-8000-000000000003";
constexpr const char* k_fourth = "01b20000-0004-7000-8000-000000000004";

std::chrono::system_clock::time_point at(std::int64_t second) {
  return std::chrono::system_clock::time_point{std::chrono::seconds(1'800'000'000 + second)};
}

std::int64_t milliseconds_at(std::int64_t second) {
  return agent::store::to_milliseconds(at(second));
}

Event event_at(const std::string& run_id,
               std::int64_t seq,
               std::int64_t second,
               agent::EventBody body) {
  return {.run_id = run_id, .seq = seq, .time = at(second), .body = std::move(body)};
}

agent::RunFinished ending(int exit_code) {
  agent::RunFinished end;
  end.result.exit_code = exit_code;
  return end;
}

agent::ModelResponded reply(std::int64_t turn, std::optional<Money> cost) {
  agent::Reply made;
  made.text = "yes";
  made.cost = cost;
  return {.turn = turn, .reply = std::move(made)};
}

// Four runs in two folders: ended, stopped and named, stopped by nobody, and carried on since.
void make_runs(const fs::path& file) {
  const auto journal = opened(file);
  REQUIRE(keep(*journal,
               event_at(k_first, 1, 10, agent::RunStarted{.agent_name = "a", .cwd = "/work"})));
  REQUIRE(keep(*journal, event_at(k_first, 2, 11, ending(0))));
  REQUIRE(
      keep(*journal,
           event_at(k_second,
                    1,
                    20,
                    agent::RunStarted{.agent_name = "b", .cwd = "/work", .session = "review"})));
  REQUIRE(keep(*journal, event_at(k_second, 2, 21, ending(80))));
  REQUIRE(keep(*journal,
               event_at(k_third, 1, 30, agent::RunStarted{.agent_name = "a", .cwd = "/work"})));
  REQUIRE(keep(*journal, event_at(k_third, 2, 31, agent::TurnStarted{1})));
  REQUIRE(
      keep(*journal,
           event_at(k_fourth,
                    1,
                    5,
                    agent::RunStarted{.agent_name = "b", .cwd = "/other", .session = "review"})));
  REQUIRE(keep(*journal, event_at(k_fourth, 2, 6, ending(130))));
}

std::vector<std::string> ids(const fs::path& file, const RunFilter& filter) {
  const auto runs = list_runs(file, filter);
  if (!runs) {
    FAIL(runs.error().message);
  }
  std::vector<std::string> found;
  for (const auto& run : *runs) {
    found.push_back(run.row.run_id);
  }
  return found;
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("runs: are listed by what is asked for, the newest first", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_runs(file);
  CHECK(ids(file, {}) == Ids{k_third, k_second, k_first, k_fourth});
  CHECK(ids(file, {.folder = "/work"}) == Ids{k_third, k_second, k_first});
  CHECK(ids(file, {.folder = "/wor"}).empty());
  CHECK(ids(file, {.agent = "a"}) == Ids{k_third, k_first});
  CHECK(ids(file, {.session = "review"}) == Ids{k_second, k_fourth});
  CHECK(ids(file, {.folder = "/work", .agent = "b", .session = "review"}) == Ids{k_second});
  CHECK(ids(file, {.since = at(20)}) == Ids{k_third, k_second});
  CHECK(ids(file, {.folder = "/work", .limit = 2}) == Ids{k_third, k_second});
  CHECK(ids(file, {.status = RunStatus::ok}) == Ids{k_first});
  CHECK(ids(file, {.status = RunStatus::stopped}) == Ids{k_second});
  CHECK(ids(file, {.status = RunStatus::interrupted}) == Ids{k_third});
  CHECK(ids(file, {.status = RunStatus::cancelled, .limit = 1}) == Ids{k_fourth});
  CHECK(ids(file, {.status = RunStatus::running}).empty());
}

TEST_CASE("runs: what is carried on is the newest again, and has no ending", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_runs(file);
  const auto journal = opened(file);
  REQUIRE(journal->claim(k_second));
  REQUIRE(keep(*journal,
               event_at(k_second,
                        3,
                        40,
                        agent::RunStarted{.agent_name = "b",
                                          .model = "p/m",
                                          .cwd = "/work",
                                          .prompt = "another",
                                          .session = "review",
                                          .resumes = 2})));
  REQUIRE(keep(*journal, event_at(k_second, 4, 41, reply(1, Money::parse("0.5")))));
  CHECK(ids(file, {}) == Ids{k_second, k_third, k_first, k_fourth});
  auto run = agent::store::run_info(file, k_second);
  REQUIRE(run);
  CHECK(run->status == RunStatus::running);
  CHECK(run->row == RunRow{.run_id = k_second,
                           .started = milliseconds_at(20),
                           .begun = milliseconds_at(40),
                           .updated = milliseconds_at(41),
                           .agent = "b",
                           .model = "p/m",
                           .cwd = "/work",
                           .session = "review",
                           .turns = 1,
                           .cost = Money::parse("0.5")});
}

TEST_CASE("runs: turns and costs grow with the replies, and an unknown one makes all unknown",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event_at(k_first, 1, 1, agent::RunStarted{.agent_name = "a"})));
  REQUIRE(keep(*journal, event_at(k_first, 2, 2, reply(1, Money::parse("0.25")))));
  agent::ModelBroken broken;
  broken.cost = Money::parse("0.125");
  REQUIRE(keep(*journal, event_at(k_first, 3, 3, broken)));
  agent::GuardrailRan judged;
  judged.judge = agent::ModelUse{.model = "p/j", .cost = Money::parse("1")};
  REQUIRE(keep(*journal, event_at(k_first, 4, 4, judged)));
  auto run = agent::store::run_info(file, k_first);
  REQUIRE(run);
  CHECK(run->row.turns == 1);
  CHECK(run->row.cost == Money::parse("1.375"));
  CHECK(run->row.updated == milliseconds_at(4));
  {
    const auto other = opened(file);  // goes on from what the file has
    REQUIRE(keep(*other, event_at(k_first, 5, 5, reply(2, Money::parse("1")))));
  }
  run = agent::store::run_info(file, k_first);
  CHECK(run->row.turns == 2);
  CHECK(run->row.cost == Money::parse("2.375"));
  REQUIRE(keep(*opened(file), event_at(k_first, 6, 6, reply(3, std::nullopt))));
  REQUIRE(keep(*opened(file), event_at(k_first, 7, 7, reply(4, Money::parse("1")))));
  run = agent::store::run_info(file, k_first);
  CHECK(run->row.turns == 4);
  CHECK(run->row.cost == std::nullopt);
}

TEST_CASE("runs: one is found by its id, its name, its beginning, or as the folder's last",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_runs(file);
  const auto [selector, from, expected] = GENERATE(table<std::string, std::string, std::string>({
      {k_first, "/other", k_first},
      {"review", "/work", k_second},
      {"review", "/other", k_fourth},
      {"review", "/elsewhere", k_second},
      {"01a20000-0003", "/work", k_third},
      {"01b2", "/work", k_fourth},
      {"", "/work", k_third},
      {"", "/other", k_fourth},
  }));
  INFO(selector << " from " << from);
  CHECK(find_run(file, selector, from).value() == expected);
}

TEST_CASE("runs: what names no run, or several, is refused", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_runs(file);
  const auto [selector, code] = GENERATE(table<std::string, Code>({
      {"01a20000-0009", Code::storage_not_found},
      {"01b", Code::storage_not_found},  // too short to be meant
      {"reviews", Code::storage_not_found},
      {"%", Code::storage_not_found},
      {"' OR 1", Code::storage_not_found},
      {"", Code::storage_not_found},
      {"01a20000", Code::cli_usage},
  }));
  INFO(selector);
  const auto found = find_run(file, selector, "/elsewhere");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == code);
  CHECK_FALSE(found.error().help.empty());
  if (selector == "01b") {
    CHECK_THAT(found.error().help, Catch::Contains("needs 4 characters"));
  }
  if (code == Code::cli_usage) {
    CHECK_THAT(found.error().help,
               Catch::Contains(k_first) && Catch::Contains(k_second) && Catch::Contains(k_third));
  }
  CHECK(agent::store::run_info(file, "01b2").error().code == Code::storage_not_found);
}

TEST_CASE("runs: a name that is the beginning of another run's id is none of the two", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto journal = opened(file);
  for (const auto& [run_id, name] : std::vector<std::pair<std::string, std::string>>{
           {k_first, ""}, {k_second, "01a20000-0001"}, {k_third, k_first}, {k_fourth, "01b2"}}) {
    const agent::RunStarted started{.agent_name = "a", .cwd = "/work", .session = name};
    REQUIRE(keep(*journal, event_at(run_id, 1, 10, started)));
  }
  const auto found = find_run(file, "01a20000-0001", "/work");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::cli_usage);
  CHECK_THAT(found.error().message, Catch::Contains("is the name of a run"));
  CHECK_THAT(found.error().help, Catch::Contains(k_first) && Catch::Contains(k_second));
  CHECK(find_run(file, "01b2", "/work").value() == k_fourth);
  CHECK(find_run(file, k_first, "/work").value() == k_first);
}

TEST_CASE("runs: a file that is not there, or is no journal, is said", "[agent]") {
  const TemporaryFolder folder;
  CHECK(list_runs(folder / "none.db", {}).error().code == Code::storage_not_found);
  CHECK_FALSE(fs::exists(folder / "none.db"));
  tests::write_bytes(folder / "garbage.db", std::string(5'000, 'g'));
  CHECK(list_runs(folder / "garbage.db", {}).error().code == Code::storage_corrupt);
  CHECK(find_run(folder / "garbage.db", "", "/").error().code == Code::storage_corrupt);
  tests::write_bytes(folder / "empty.db", "");
  CHECK(list_runs(folder / "empty.db", {}).value().empty());
}

TEST_CASE("runs: every status has its name", "[agent]") {
  for (const std::string_view name : agent::store::k_run_statuses) {
    const auto status = agent::store::run_status(name);
    REQUIRE(status);
    CHECK(agent::store::to_string(*status) == name);
  }
  CHECK(agent::store::run_status("finished") == std::nullopt);
}

TEST_CASE("runs: ten thousand of fifty events", "[.bench]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  constexpr int k_runs = 10'000;
  {
    const auto journal = opened(file);
    for (int run = 0; run < k_runs; ++run) {
      const std::string id = fmt::format("01a2{:04x}-{:04x}-7000-8000-000000000000", run, run);
      journal->append(event_at(id,
                               1,
                               run,
                               agent::RunStarted{.agent_name = "worker",
                                                 .cwd = fmt::format("/work/{}", run % 100),
                                                 .prompt = std::string(300, 'p')}));
      for (int seq = 2; seq < 50; ++seq) {
        journal->append(event_at(id, seq, run, tests::finished_tool(std::string(200, 'x'))));
      }
      journal->append(event_at(id, 50, run, ending(0)));
      REQUIRE(journal->commit());
    }
  }
  const auto timed = [](const char* what, const auto& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    WARN(what << ": " << took.count() << " ms");
  };
  WARN("file: " << fs::file_size(file) / 1'000'000 << " MB");
  timed("list of a folder, 50",
        [&] { CHECK(ids(file, {.folder = "/work/7", .limit = 50}).size() == 50); });
  timed("list of all, 50", [&] { CHECK(ids(file, {.limit = 50}).size() == 50); });
  timed("list of all", [&] { CHECK(ids(file, {}).size() == k_runs); });
  timed("list by agent and status, none", [&] {
    CHECK(ids(file, {.agent = "worker", .status = RunStatus::failed, .limit = 50}).empty());
  });
  timed("last of a folder", [&] { CHECK(find_run(file, "", "/work/7").has_value()); });
  timed("by beginning", [&] { CHECK(find_run(file, "01a20042-0042", "/").has_value()); });
  timed("by name, none", [&] { CHECK_FALSE(find_run(file, "review", "/").has_value()); });
}

TEST_CASE("runs: one whose calls wait is parked, and found by it", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_runs(file);
  const auto waiting = [&](const std::string& run_id, const std::string& in) {
    const auto runs = agent::store::waiting_runs(file, run_id, in);
    Ids found;
    for (const auto& run : runs.value()) {
      for (const agent::ParkedCall* call : run.approvals.pending()) {
        found.push_back(run.row.run_id + ":" + call->request.call.id);
      }
    }
    return found;
  };
  CHECK(waiting("", "").empty());
  const auto parked = [](std::vector<std::string> ids) {
    agent::RunParked body{.cwd = "/work", .calls = {}, .others = {}};
    for (std::string& id : ids) {
      body.calls.push_back({.request = {.call = {std::move(id), "x", "{}"}, .reason = "r"},
                            .since = "2026-11-21T09:30:00.123Z",
                            .deadline = ""});
    }
    return body;
  };
  const auto status = [&](const char* run_id) {
    return agent::store::run_info(file, run_id).value().status;
  };
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event_at(k_second, 3, 40, parked({"a"}))));
  REQUIRE(keep(*journal, event_at(k_second, 4, 41, parked({"a", "b"}))));
  CHECK(status(k_second) == RunStatus::stopped);  // by a limit, as it was
  REQUIRE(keep(*journal, event_at(k_second, 5, 42, ending(92))));
  CHECK(status(k_second) == RunStatus::parked);
  agent::RunFinished denied = ending(92);
  denied.result.error = agent::Error{.code = Code::tool_policy_blocked, .message = "d", .help = {}};
  REQUIRE(keep(*journal, event_at(k_first, 9, 43, std::move(denied))));
  CHECK(status(k_first) == RunStatus::stopped);
  CHECK(ids(file, {.status = RunStatus::parked}) == Ids{k_second});
  REQUIRE(keep(*journal, event_at(k_fourth, 3, 50, parked({"c"}))));

  const std::string second = k_second;
  const std::string fourth = k_fourth;
  CHECK(waiting("", "") == Ids{second + ":a", second + ":b", fourth + ":c"});
  CHECK(waiting("", "/work") == Ids{second + ":a", second + ":b"});
  CHECK(waiting(k_fourth, "") == Ids{fourth + ":c"});
  CHECK(waiting(k_first, "").empty());

  agent::ToolFinished done;
  done.result.call_id = "a";
  REQUIRE(keep(*journal, event_at(k_second, 6, 60, done)));
  CHECK(waiting(k_second, "") == Ids{second + ":b"});
  REQUIRE(keep(*journal, event_at(k_second, 7, 61, reply(2, Money{}))));
  CHECK(waiting(k_second, "").empty());
  CHECK(status(k_second) == RunStatus::parked);  // until it is carried on
  REQUIRE(keep(*journal, event_at(k_second, 8, 62, ending(80))));
  CHECK(status(k_second) == RunStatus::stopped);
}
