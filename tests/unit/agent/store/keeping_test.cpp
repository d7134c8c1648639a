#include "agent/store/keeping.h"

#include "agent/store/owner.h"
#include "agent/store/runs.h"
#include "tests/support/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::store::import_run;
using agent::store::list_runs;
using agent::store::read_run_texts;
using agent::store::remove_runs;
using agent::store::Traces;
using tests::bytes_of;
using tests::event;
using tests::finished_tool;
using tests::keep;
using tests::no_secrets;
using tests::opened;
using tests::TemporaryFolder;

using Ids = std::vector<std::string>;

std::string all_bytes(const fs::path& file) {
  std::string bytes;
  for (const char* part : {"", "-wal", "-shm"}) {
    bytes += bytes_of(fs::path(file) += part);
  }
  return bytes;
}

// A run whose every row holds its id, and all texts of which say `mark`.
void add_run(const fs::path& file,
             const std::string& run_id,
             const std::string& mark,
             std::int64_t seconds = 0) {
  const auto journal = opened(file);
  auto later = [&](agent::Event made) {
    made.time += std::chrono::seconds(seconds);
    return made;
  };
  agent::RunStarted started;
  started.agent_name = mark;
  started.prompt = mark + " " + mark;
  started.cwd = "/" + mark;
  journal->append(later(event(run_id, 1, started)));
  for (std::int64_t seq = 2; seq < 8; ++seq) {
    std::string text;
    while (text.size() < static_cast<std::size_t>(seq * seq * 60)) {
      text += mark + ".";
    }
    journal->append(later(event(run_id, seq, agent::UserSaid{.text = text})));
    REQUIRE(journal->commit());
  }
  agent::RunFinished end;
  end.result.text = mark;
  journal->append(later(event(run_id, 8, end)));
  REQUIRE(journal->commit());
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

// An import takes an id as errand gives it alone.
const std::string k_moved = "01a206d1-bf67-7f7d-b637-287b90f0ae02";

}  // namespace

TEST_CASE("keeping: a run that is removed leaves no byte in the file", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  std::vector<std::string> names;
  for (int run = 0; run < 40; ++run) {
    names.push_back(fmt::format("run-{:04}", (run * 7'919) % 10'000));
    add_run(file, names.back(), "mark" + names.back());
  }
  const auto writer = opened(file);  // another process has the file open, and keeps its -wal
  std::mt19937 random(1);
  std::shuffle(names.begin(), names.end(), random);
  for (std::size_t at = 0; at < names.size(); at += 8) {
    const Ids gone(names.begin() + static_cast<long>(at),
                   names.begin() + static_cast<long>(at) + 8);
    REQUIRE(all_bytes(file).find("mark" + gone.front()) != std::string::npos);
    const auto removal = remove_runs(file, gone, Traces::erase);
    REQUIRE(removal);
    CHECK(removal->run_ids == gone);
    CHECK(removal->in_use.empty());
    CHECK(removal->remains == "");
    const std::string bytes = all_bytes(file);
    for (const std::string& name : gone) {
      CHECK(bytes.find(name) == std::string::npos);
    }
  }
  CHECK(list_runs(file, {}).value().empty());
  REQUIRE(keep(*writer, event("next", 1, agent::RunStarted{.agent_name = "a"})));
  CHECK(list_runs(file, {}).value().size() == 1);
}

TEST_CASE("keeping: where one of the runs is not there, nothing is removed", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  add_run(file, "here", "mark");
  const Ids both = {"here", "gone"};
  CHECK(remove_runs(file, both, Traces::erase).error().code == Code::storage_not_found);
  CHECK(list_runs(file, {}).value().size() == 1);
  CHECK(remove_runs(folder / "none.db", both, Traces::erase).error().code ==
        Code::storage_not_found);
  CHECK_FALSE(fs::exists(folder / "none.db"));
}

TEST_CASE("keeping: a run that is being written stays", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  add_run(file, "old", "mark");
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("busy", 1, agent::RunStarted{.agent_name = "a"})));
  const Ids both = {"busy", "old"};
  const auto removal = remove_runs(file, both, Traces::erase);
  REQUIRE(removal);
  CHECK(removal->run_ids == Ids{"old"});
  CHECK(removal->in_use == Ids{"busy"});
  CHECK(removal->remains == "");
  REQUIRE(keep(*journal, event("busy", 2, agent::TurnStarted{1})));
  CHECK(agent::store::read_run(file, "busy").value().size() == 2);
}

TEST_CASE("keeping: runs of which nothing was heard are pruned, and no others", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  for (const int day : {1, 2, 3, 4}) {
    add_run(file, fmt::format("day-{}", day), "mark", day * 86'400);
  }
  const auto first = event("x", 0, agent::TurnStarted{}).time;
  // The first one was carried on since.
  agent::Event resumed = event("day-1", 9, agent::RunStarted{.agent_name = "a", .resumes = 8});
  resumed.time = first + std::chrono::days(3);
  REQUIRE(keep(*opened(file), resumed));
  // And the second one is being carried on.
  const auto busy = opened(file);
  REQUIRE(busy->claim("day-2"));
  const auto before = first + std::chrono::days(4);
  using agent::store::find_old_runs;
  CHECK(find_old_runs(file, {.before = before}).value() == Ids{"day-1", "day-3"});
  CHECK(find_old_runs(file, {.before = first + std::chrono::days(3)}).value().empty());
  CHECK(find_old_runs(file, {.before = before, .agent = "mark", .folder = "/mark"}).value() ==
        Ids{"day-3"});  // who carried on day-1 did so elsewhere
  CHECK(find_old_runs(file, {.before = before, .agent = "other"}).value().empty());
  CHECK(find_old_runs(file, {.before = before, .stays = "day-3"}).value() == Ids{"day-1"});
  CHECK(find_old_runs(file, {.before = before, .folder = "/other"}).value().empty());
  const auto traces = GENERATE(Traces::erase, Traces::leave);
  const auto removal = agent::store::prune(file, {.before = before}, traces);
  REQUIRE(removal);
  CHECK(removal->run_ids == Ids{"day-1", "day-3"});
  CHECK(removal->remains == "");
  const auto left = list_runs(file, {});
  REQUIRE(left->size() == 2);
  CHECK(left->front().row.run_id == "day-4");
  CHECK(left->back().row.run_id == "day-2");
}

TEST_CASE("keeping: what worked for a run stays with it", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto keep_run =
      [&](const std::string& run_id, int days, std::optional<int> code, std::string parent = {}) {
        const auto journal = opened(file);
        auto made = event(run_id, 1, agent::RunStarted{.agent_name = "a"});
        made.time += std::chrono::days(days);
        made.parent = std::move(parent);
        REQUIRE(keep(*journal, made));
        if (code) {
          made.seq = 2;
          made.body = agent::RunFinished{.result = {.exit_code = *code}};
          REQUIRE(keep(*journal, made));
        }
      };
  keep_run("cut-off", 10, std::nullopt);
  keep_run("cut-off/1", 1, 0, "cut-off");
  keep_run("parked", 10, 92);
  keep_run("parked/1", 2, 92, "parked");
  keep_run("answered", 10, 0);
  keep_run("answered/1", 3, 0, "answered");
  keep_run("old", 1, 92);
  keep_run("old/1", 4, 92, "old");
  keep_run("gone/1", 5, 0, "gone");
  const auto before = event("x", 0, agent::TurnStarted{}).time + std::chrono::days(7);
  const Ids alone = {"old", "old/1", "gone/1"};  // a member goes with its whole
  CHECK(agent::store::find_old_runs(file, {.before = before}).value() == alone);
  CHECK(remove_runs(file, Ids{"answered/1", "parked/1"}, Traces::erase).error().code ==
        Code::cli_usage);
  CHECK(list_runs(file, {}).value().size() == 9);
  CHECK(agent::store::prune(file, {.before = before}, Traces::erase)->run_ids == alone);
  CHECK(remove_runs(file, Ids{"parked/1", "parked"}, Traces::erase)->run_ids ==
        Ids{"parked", "parked/1"});
}

TEST_CASE("keeping: a member goes only where all that it worked for goes", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto keep_run = [&](const std::string& run_id, int days, std::string parent) {
    auto made = event(run_id, 1, agent::RunStarted{.agent_name = "a"});
    made.time += std::chrono::days(days);
    made.parent = std::move(parent);
    REQUIRE(keep(*opened(file), made));
  };
  keep_run("outer", 9, "");
  keep_run("inner", 2, "outer");  // carried on later than what works for it began
  keep_run("member", 1, "inner");
  keep_run("other", 1, "");
  const auto before = event("x", 0, agent::TurnStarted{}).time + std::chrono::days(7);
  CHECK(agent::store::find_old_runs(file, {.before = before}).value() == Ids{"other"});
  const auto help_of = [&](const Ids& run_ids) {
    return remove_runs(file, run_ids, Traces::leave).error().help;
  };
  CHECK(help_of({"member"}).contains("`errand runs rm outer inner member`"));
  CHECK(help_of({"inner", "other"}).contains("`errand runs rm outer inner other`"));
  CHECK(help_of({"member", "outer"}).contains("`errand runs rm inner member outer`"));
  {
    const auto busy = opened(file);
    REQUIRE(busy->claim("outer"));
    CHECK(help_of({"member"}) == "wait for the end of the run outer, which a living process has");
    const auto removal = remove_runs(file, Ids{"member", "other", "inner", "outer"}, Traces::leave);
    REQUIRE(removal);
    CHECK(removal->run_ids == Ids{"other"});
    CHECK(removal->in_use == Ids{"outer", "inner", "member"});
  }
  CHECK(remove_runs(file, Ids{"member", "inner", "outer"}, Traces::leave)->run_ids ==
        Ids{"outer", "inner", "member"});
}

TEST_CASE("keeping: more members than are removed at once go with their whole or stay with it",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  Ids all;
  {
    const auto journal = opened(file);
    for (int number = 1; number <= 230; ++number) {
      all.push_back(fmt::format("member-{}", number));
      auto made = event(all.back(), 1, agent::RunStarted{.agent_name = "a"});
      made.parent = "whole";
      REQUIRE(keep(*journal, made));
    }
    all.push_back("whole");
    REQUIRE(keep(*journal, event("whole", 1, agent::RunStarted{.agent_name = "a"})));
    const auto removal = remove_runs(file, all, Traces::leave);
    REQUIRE(removal);
    CHECK(removal->run_ids.empty());
    CHECK(removal->in_use.size() == all.size());
    CHECK(removal->in_use.front() == "whole");
  }
  CHECK(remove_runs(file, all, Traces::leave)->run_ids.size() == all.size());
}

TEST_CASE("keeping: runs that say that they worked for each other can be removed", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const Ids all = {"a", "b", "c", "self"};
  for (const auto& [run_id, parent] :
       {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "b"), std::pair("self", "self")}) {
    auto made = event(run_id, 1, agent::RunStarted{.agent_name = "a"});
    made.parent = parent;
    REQUIRE(keep(*opened(file), made));
  }
  CHECK(remove_runs(file, Ids{"a"}, Traces::leave).error().code == Code::cli_usage);
  CHECK(remove_runs(file, all, Traces::leave)->run_ids.size() == all.size());
}

TEST_CASE("keeping: runs removed on the way are in no file any more, once nobody reads",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  add_run(file, "old", "oldmark");
  add_run(file, "new", "newmark", 10 * 86'400);
  const auto writer = opened(file);  // it keeps the -wal file
  const auto before = event("x", 0, agent::TurnStarted{}).time + std::chrono::days(5);
  REQUIRE(all_bytes(file).find("oldmark") != std::string::npos);
  REQUIRE(fs::file_size(fs::path(file) += "-wal") > 0);
  {
    SQLite::Database reader(file.string());
    reader.exec("BEGIN");
    reader.execAndGet("SELECT count(*) FROM events");
    const auto start = std::chrono::steady_clock::now();
    const auto removal = agent::store::prune(file, {.before = before}, Traces::leave);
    REQUIRE(removal);
    CHECK(removal->run_ids == Ids{"old"});
    CHECK_FALSE(removal->remains.empty());  // who reads is not waited for
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));
  }
  add_run(file, "older", "oldermark");
  const auto removal = agent::store::prune(file, {.before = before}, Traces::leave);
  REQUIRE(removal);
  CHECK(removal->run_ids == Ids{"older"});
  CHECK(removal->remains == "");
  CHECK(fs::file_size(fs::path(file) += "-wal") == 0);
  CHECK(all_bytes(file).find("oldmark") == std::string::npos);
  CHECK(all_bytes(file).find("oldermark") == std::string::npos);
  CHECK(all_bytes(file).find("newmark") != std::string::npos);
}

TEST_CASE("keeping: what was exported is imported byte for byte, row and all", "[agent]") {
  const TemporaryFolder folder;
  add_run(folder / "from.db", k_moved, "mark");
  add_run(folder / "to.db", "other", "mark");
  const auto texts = read_run_texts(folder / "from.db", k_moved);
  REQUIRE(texts);
  CHECK(import_run(folder / "to.db", joined(*texts), "run.jsonl", no_secrets()).value() == k_moved);
  CHECK(read_run_texts(folder / "to.db", k_moved).value() == *texts);
  CHECK(agent::store::run_info(folder / "to.db", k_moved)->row ==
        agent::store::run_info(folder / "from.db", k_moved)->row);
  // Once.
  const auto again = import_run(folder / "to.db", joined(*texts), "run.jsonl", no_secrets());
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Code::cli_usage);
  CHECK(read_run_texts(folder / "to.db", k_moved).value() == *texts);
}

TEST_CASE("keeping: an import holds no secrets", "[agent]") {
  const TemporaryFolder folder;
  add_run(folder / "from.db", k_moved, "hunter22-hunter22");
  agent::Redactor redactor({});
  redactor.add("hunter22-hunter22");
  const auto texts = read_run_texts(folder / "from.db", k_moved);
  REQUIRE(import_run(folder / "to.db", joined(*texts), "run.jsonl", redactor));
  CHECK(all_bytes(folder / "to.db").find("hunter22") == std::string::npos);
  CHECK(agent::store::read_run(folder / "to.db", k_moved).value().size() == 8);
}

TEST_CASE("keeping: what is no whole run is not imported, and the line is said", "[agent]") {
  const TemporaryFolder folder;
  add_run(folder / "from.db", k_moved, "mark");
  const auto texts = read_run_texts(folder / "from.db", k_moved);
  std::vector<std::string> lines = *texts;
  const auto [what, line, message] = GENERATE(table<std::string, int, std::string>({
      {"nothing", 0, "there is no event"},
      {"no json", 3, "not an event"},
      {"cut", 8, "not an event"},
      {"no beginning", 1, "begins with run.started"},
      {"twice", 3, "event 2 cannot follow event 2"},
      {"backwards", 4, "event 3 cannot follow event 4"},
      {"another run", 4, "of another run, 01a206d1"},
      {"for people", 1, "exported for people"},
      {"a piece", 3, "not one that is kept"},
      {"a call of nobody", 3, "the model waits for no call `call_1`"},
      {"a turn too far", 3, "turn 2 cannot follow turn 0"},
      {"tokens that cannot be", 3, "no request has so many tokens"},
      {"results of nobody cleared", 3, "it leaves out what was never said"},
      {"nothing summed up", 3, "it leaves out what was never said"},
      {"a window that cannot be", 3, "no request has so many tokens"},
      {"behind its end", 9, "the run has ended before"},
      {"begun again", 9, "carried on from its last event, 8"},
      {"a time that cannot be", 9, "no run takes -1 ms"},
      {"a number that cannot be", 9, "event 9223372036854775807 cannot follow event 8"},
  }));
  INFO(what);
  const auto kept = [](std::int64_t seq, agent::EventBody body) {
    return agent::dump(event(k_moved, seq, std::move(body)), agent::Detail::kept);
  };
  if (what == "nothing") {
    lines = {"", ""};
  } else if (what == "no json") {
    lines[2] = "hello";
  } else if (what == "cut") {
    lines.back().resize(lines.back().size() / 2);
  } else if (what == "no beginning") {
    lines.erase(lines.begin());
  } else if (what == "twice") {
    lines.insert(lines.begin() + 2, lines[1]);
  } else if (what == "backwards") {
    std::swap(lines[2], lines[3]);
  } else if (what == "another run") {
    lines[3] = agent::dump(event("01a206d1-bf67-7f7d-b637-287b90f0ae03", 4, agent::TurnStarted{1}));
  } else if (what == "for people") {
    lines[0] = agent::dump(agent::store::read_run(folder / "from.db", k_moved)->front());
  } else if (what == "a piece") {
    lines.insert(lines.begin() + 2, agent::dump(event(k_moved, 3, agent::ModelDelta{})));
  } else if (what == "a call of nobody") {
    lines[2] = kept(3, finished_tool("none"));
  } else if (what == "a turn too far") {
    lines[2] = kept(3, agent::TurnStarted{2});
  } else if (what == "tokens that cannot be") {
    lines[2] = kept(3, agent::ModelBroken{.estimated = agent::Usage{.input = -5}});
  } else if (what == "results of nobody cleared") {
    lines[2] = kept(3, agent::ContextCompacted{.action = "cleared", .results = {1}});
  } else if (what == "nothing summed up") {
    lines[2] = kept(3, agent::ContextCompacted{.action = "summarized", .messages = 1'000});
  } else if (what == "a window that cannot be") {
    lines[2] = kept(3, agent::ContextCompacted{.action = "failed", .window = INT64_MAX});
  } else if (what == "behind its end") {
    lines.push_back(kept(9, agent::TurnStarted{1}));
  } else if (what == "begun again") {
    lines.push_back(kept(9, agent::RunStarted{.resumes = 7}));
  } else if (what == "a time that cannot be") {
    lines.push_back(kept(9, agent::RunStarted{.resumes = 8, .worked_ms = -1}));
  } else {
    lines.push_back(kept(INT64_MAX, agent::RunStarted{.resumes = 8}));
  }
  const auto imported = import_run(folder / "to.db", joined(lines), "run.jsonl", no_secrets());
  REQUIRE_FALSE(imported);
  CHECK(imported.error().code == Code::config_invalid);
  REQUIRE(imported.error().where);
  CHECK(imported.error().where->file == "run.jsonl");
  CHECK(imported.error().where->line == line);
  CHECK_THAT(imported.error().message, Catch::Contains(message));
  CHECK_FALSE(fs::exists(folder / "to.db"));
}

TEST_CASE("keeping: what a removal that was killed has left is taken out by the next one",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  {
    const auto journal = opened(file, agent::SessionSpec::Durability::full);
    for (const char* id : {"run-1", "run-2"}) {
      REQUIRE(keep(*journal, event(id, 1, agent::RunStarted{.agent_name = "a"})));
      REQUIRE(keep(*journal, event(id, 2, finished_tool(std::string("MARK of ") + id))));
    }
  }
  const fs::path killed = folder / "killed.db";
  const bool is_before_it_was_written_anew = GENERATE(true, false);
  {
    SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA secure_delete = ON");
    database.exec("DELETE FROM events WHERE run_id = 'run-1'");
    database.exec("DELETE FROM runs WHERE run_id = 'run-1'");
    if (!is_before_it_was_written_anew) {
      database.exec("VACUUM");
    }
    std::filesystem::copy_file(file, killed);
    std::filesystem::copy_file(fs::path(file) += "-wal", fs::path(killed) += "-wal");
  }
  REQUIRE_THAT(bytes_of(killed), Catch::Contains("MARK of run-1"));
  const bool is_pruned = GENERATE(true, false);
  if (is_pruned) {
    REQUIRE(agent::store::prune(killed, {.before = {}}, Traces::erase));
  } else {
    agent::store::finish_removals(killed);
  }
  CHECK_THAT(bytes_of(killed), !Catch::Contains("MARK of run-1"));
  CHECK_THAT(bytes_of(killed), Catch::Contains("MARK of run-2"));
  CHECK(bytes_of(fs::path(killed) += "-wal").empty());
  CHECK(read_run_texts(killed, "run-2").value().size() == 2);
}
