#include "agent/store/sqlite_journal.h"

#include "agent/store/runs.h"
#include "tests/support/journal.h"
#include "tests/support/skip.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <poll.h>
#include <sched.h>
#include <stop_token>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Event;
using agent::EventBody;
using agent::SessionSpec;
using agent::store::read_run;
using agent::store::SqliteJournal;
using tests::bytes_of;
using tests::event;
using tests::finished_tool;
using tests::keep;
using tests::no_secrets;
using tests::opened;
using tests::TemporaryFolder;
using tests::write_bytes;

mode_t mode_of(const fs::path& path) {
  struct stat found{};
  REQUIRE(stat(path.c_str(), &found) == 0);
  return found.st_mode & 0777;
}

// Runs `work` in a child process, which ends with what it returns.
pid_t spawn(const std::function<int()>& work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    _exit(work());
  }
  return child;
}

int exit_status(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int run_in_child(const std::function<int()>& work) {
  return exit_status(spawn(work));
}

// 0: refused as storage.io and the error is worth reading; for the exit status of a child.
template <typename Result>
int judge_refusal(const Result& result) {
  if (result) {
    return 1;
  }
  return result.error().code == Code::storage_io && !result.error().message.empty() ? 0 : 2;
}

constexpr uid_t k_nobody = 65'534;

void skip_without_another_user() {
  if (geteuid() == 0 && run_in_child([] { return setuid(k_nobody); }) != 0) {
    tests::skip("root cannot become another user here");
  }
}

// Of `name` in this folder, in a child process, for a user who is not root.
int judge_refusal_as_user(const TemporaryFolder& folder, const char* name) {
  return run_in_child([&] {
    if (geteuid() == 0 && setuid(k_nobody) != 0) {
      return 7;
    }
    return judge_refusal(
        SqliteJournal::open(folder / name, SessionSpec::Durability::process, no_secrets()));
  });
}

// Appends until it fails.
int fill(const fs::path& file) {
  auto journal = SqliteJournal::open(file, SessionSpec::Durability::process, no_secrets());
  if (!journal) {
    return 3;
  }
  for (std::int64_t seq = 1; seq < 1'000; ++seq) {
    const auto appended =
        keep(**journal, event("run", seq, finished_tool(std::string(20'000, 'x'))));
    if (!appended) {
      return seq > 2 ? judge_refusal(appended) : 4;
    }
  }
  return 5;
}

}  // namespace

TEST_CASE("journal: what was appended is read back, in order", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  agent::RunStarted started;
  started.agent_name = "reviewer";
  started.prompt = "Grüße\nworld";
  agent::RunFinished finished;
  finished.result.exit_code = 80;
  finished.result.text = "partial";
  const std::vector<Event> events = {
      event("run-a", 1, started),
      event("run-a", 2, agent::TurnStarted{1}),
      event("run-a", 3, finished_tool("out \xC3\xBC \" \\ ")),
      event("run-a", 4, finished),
  };
  const auto durability = GENERATE(SessionSpec::Durability::process, SessionSpec::Durability::full);
  {
    const auto journal = opened(file, durability);
    const auto other = opened(file, durability);
    for (const Event& each : events) {
      REQUIRE(keep(*journal, each));
      REQUIRE(keep(*other, event("run-b", each.seq, agent::TurnStarted{each.seq})));
    }
  }
  const auto back = read_run(file, "run-a");
  REQUIRE(back);
  REQUIRE(back->size() == events.size());
  for (std::size_t at = 0; at < events.size(); ++at) {
    CHECK(agent::dump(agent::to_json((*back)[at])) == agent::dump(agent::to_json(events[at])));
  }
  CHECK(read_run(file, "run-b")->size() == 4);
}

TEST_CASE("journal: streamed pieces are not kept", "[agent]") {
  const TemporaryFolder folder;
  const auto journal = opened(folder / "sessions.db");
  REQUIRE(keep(*journal, event("run", 1, agent::TurnStarted{1})));
  REQUIRE(keep(*journal, event("run", 2, agent::ModelDelta{})));
  REQUIRE(keep(*journal, event("run", 3, agent::ToolOutput{})));
  REQUIRE(keep(*journal, event("run", 4, agent::TurnStarted{2})));
  const auto back = read_run(folder / "sessions.db", "run");
  REQUIRE(back);
  CHECK(back->size() == 2);
}

TEST_CASE("journal: the table of runs follows their events", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  const auto journal = opened(file);
  agent::RunStarted started;
  started.agent_name = "reviewer";
  started.prompt = std::string(199, 'p') + "€€€";
  REQUIRE(keep(*journal, event("run-a", 1, started)));
  REQUIRE(keep(*journal, event("run-b", 1, started)));
  agent::RunFinished finished;
  finished.result.exit_code = 75;
  REQUIRE(keep(*journal, event("run-b", 2, finished)));

  SQLite::Database database(file.string());
  SQLite::Statement query(database, "SELECT * FROM runs ORDER BY run_id");
  REQUIRE(query.executeStep());
  CHECK(query.getColumn("run_id").getString() == "run-a");
  CHECK(query.getColumn("started").getInt64() == 1'795'253'400'124);
  CHECK(query.getColumn("agent").getString() == "reviewer");
  CHECK(query.getColumn("prompt").getString() == std::string(199, 'p'));
  CHECK(query.getColumn("finished").isNull());
  REQUIRE(query.executeStep());
  CHECK(query.getColumn("run_id").getString() == "run-b");
  CHECK(query.getColumn("finished").getInt64() == 1'795'253'400'125);
  CHECK(query.getColumn("exit_code").getInt() == 75);
  CHECK_FALSE(query.executeStep());
}

TEST_CASE("journal: an event cannot be written twice, and the first one stays", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run", 1, agent::TurnStarted{1})));
  const auto twice = keep(*journal, event("run", 1, agent::TurnStarted{2}));
  REQUIRE_FALSE(twice);
  CHECK(twice.error().code == Code::storage_other);
  // A transaction of several statements is undone as a whole.
  agent::RunStarted started;
  CHECK_FALSE(keep(*journal, event("run", 1, started)));
  CHECK(SQLite::Database(file.string()).execAndGet("SELECT count(*) FROM runs").getInt() == 0);
  REQUIRE(keep(*journal, event("run", 2, agent::TurnStarted{3})));
  CHECK(read_run(file, "run")->size() == 2);
}

TEST_CASE("journal: what is appended is written by the commit, all of it or nothing", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  const auto journal = opened(file);
  journal->append(event("run", 1, agent::TurnStarted{1}));
  journal->append(event("run", 2, agent::TurnStarted{2}));
  CHECK(read_run(file, "run").error().code == Code::storage_not_found);
  REQUIRE(journal->commit());
  CHECK(read_run(file, "run")->size() == 2);
  journal->append(event("run", 3, agent::TurnStarted{3}));
  journal->append(event("run", 2, agent::TurnStarted{2}));
  CHECK_FALSE(journal->commit());
  CHECK(read_run(file, "run")->size() == 2);
  CHECK(journal->commit());  // nothing is left of it
  CHECK(read_run(file, "run")->size() == 2);
}

TEST_CASE("journal: keeps no secrets", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  agent::Redactor redactor({});
  redactor.add("hunter22-hunter22");
  const auto journal = SqliteJournal::open(file, SessionSpec::Durability::full, redactor);
  REQUIRE(journal);
  agent::RunStarted started;
  started.prompt = "log in with hunter22-hunter22";
  REQUIRE(keep(**journal, event("run", 1, started)));
  REQUIRE(keep(**journal, event("run", 2, finished_tool("it is \"hunter22-hunter22\""))));
  const auto back = read_run(file, "run");
  REQUIRE(back);
  CHECK(std::get<agent::ToolFinished>(back->back().body).result.content == "it is \"[redacted]\"");
  CHECK(bytes_of(file).find("hunter22") == std::string::npos);
  CHECK(bytes_of(fs::path(file) += "-wal").find("hunter22") == std::string::npos);
}

TEST_CASE("journal: nobody else can read it, whatever the umask", "[agent]") {
  const TemporaryFolder folder;
  const mode_t before = umask(0);
  const auto journal = opened(folder / "state/errand/sessions.db");
  const auto appended = keep(*journal, event("run", 1, agent::TurnStarted{1}));
  umask(before);
  REQUIRE(appended);
  CHECK(mode_of(folder / "state") == 0700);
  CHECK(mode_of(folder / "state/errand") == 0700);
  CHECK(mode_of(folder / "state/errand/sessions.db") == 0600);
  CHECK(mode_of(folder / "state/errand/sessions.db-wal") == 0600);
  CHECK(mode_of(folder / "state/errand/sessions.db-shm") == 0600);
}

TEST_CASE("journal: many processes make and write one file at once", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "new/sessions.db";
  constexpr int k_processes = 8;
  constexpr int k_events = 50;
  int interceptor[2] = {};  // all start when it closes
  REQUIRE(pipe(interceptor) == 0);
  std::vector<pid_t> children;
  for (int number = 0; number < k_processes; ++number) {
    children.push_back(spawn([&, run_id = "run-" + std::to_string(number)] {
      close(interceptor[1]);
      char none = 0;
      if (read(interceptor[0], &none, 1) != 0) {
        return 9;
      }
      auto journal = SqliteJournal::open(file, SessionSpec::Durability::process, no_secrets());
      if (!journal) {
        return 1;
      }
      for (int seq = 1; seq <= k_events; ++seq) {
        EventBody body = finished_tool("some output");
        if (seq == 1) {
          body = agent::RunStarted{};
        }
        if (!keep(**journal, event(run_id, seq, std::move(body)))) {
          return 2;
        }
      }
      return 0;
    }));
  }
  close(interceptor[0]);
  close(interceptor[1]);
  for (const pid_t child : children) {
    CHECK(exit_status(child) == 0);
  }
  for (int number = 0; number < k_processes; ++number) {
    const auto back = read_run(file, "run-" + std::to_string(number));
    REQUIRE(back);
    CHECK(back->size() == k_events);
    CHECK(back->back().seq == k_events);
  }
  SQLite::Database database(file.string());
  CHECK(database.execAndGet("SELECT count(*) FROM runs").getInt() == k_processes);
  CHECK(database.execAndGet("PRAGMA journal_mode").getString() == "wal");
  CHECK(database.execAndGet("PRAGMA integrity_check").getString() == "ok");
}

TEST_CASE("journal: what a commit confirmed survives SIGKILL", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  int confirmed[2] = {};
  REQUIRE(pipe(confirmed) == 0);
  const pid_t child = spawn([&] {
    auto journal = SqliteJournal::open(file, SessionSpec::Durability::process, no_secrets());
    for (std::int64_t seq = 1; journal; ++seq) {
      const char one = 1;
      if (!keep(**journal, event("run", seq, finished_tool(std::string(3'000, 'x')))) ||
          write(confirmed[1], &one, 1) != 1) {
        return 1;
      }
    }
    return 2;
  });
  close(confirmed[1]);
  std::size_t count = 0;
  char buffer[256];
  pollfd waiting{.fd = confirmed[0], .events = POLLIN, .revents = 0};
  while (count < 700) {  // beyond the first checkpoint, too
    REQUIRE(poll(&waiting, 1, 30'000) == 1);
    const ssize_t got = read(confirmed[0], buffer, sizeof buffer);
    REQUIRE(got > 0);
    count += static_cast<std::size_t>(got);
  }
  kill(child, SIGKILL);
  CHECK(exit_status(child) == -SIGKILL);
  for (ssize_t got = 1; got > 0; count += static_cast<std::size_t>(got)) {
    got = read(confirmed[0], buffer, sizeof buffer);
    REQUIRE(got >= 0);
  }
  close(confirmed[0]);

  const auto back = read_run(file, "run");
  REQUIRE(back);
  // The last one may be there although its word did not get out.
  CHECK(back->size() >= count);
  CHECK(back->size() <= count + 1);
  for (std::size_t at = 0; at < back->size(); ++at) {
    CHECK((*back)[at].seq == static_cast<std::int64_t>(at) + 1);
  }
  // And the next run simply goes on.
  REQUIRE(keep(*opened(file), event("next", 1, agent::TurnStarted{1})));
}

TEST_CASE("journal: a writer waits for another one", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  const auto journal = opened(file);
  SQLite::Database other(file.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  std::jthread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    other.exec("COMMIT");
  });
  CHECK(keep(*journal, event("run", 1, agent::TurnStarted{1})));
}

TEST_CASE("journal: who is being stopped waits for another writer, too, but not for long",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  std::stop_source stop;
  const auto journal =
      SqliteJournal::open(file, SessionSpec::Durability::process, no_secrets(), stop.get_token());
  REQUIRE(journal);
  stop.request_stop();
  SQLite::Database other(file.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  {
    const std::jthread release([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{1'000});
      other.exec("COMMIT");
    });
    CHECK(keep(**journal, event("run", 1, agent::TurnStarted{1})));
  }
  other.exec("BEGIN IMMEDIATE");
  CHECK_FALSE(keep(**journal, event("run", 2, agent::TurnStarted{2})));  // before k_patience
  other.exec("COMMIT");
}

TEST_CASE("journal: a folder that cannot be written is storage.io", "[agent]") {
  skip_without_another_user();
  const TemporaryFolder folder;
  fs::create_directory(folder / "closed");
  fs::permissions(folder.path(),
                  fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  fs::permissions(folder / "closed",
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  CHECK(judge_refusal_as_user(folder, "closed/sessions.db") == 0);
  CHECK(judge_refusal_as_user(folder, "closed/deeper/sessions.db") == 0);
}

TEST_CASE("journal: another user's file is storage.io", "[agent]") {
  if (geteuid() != 0) {
    tests::skip("only root can be two users");
  }
  skip_without_another_user();
  const TemporaryFolder folder;
  fs::permissions(folder.path(),
                  fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  {
    REQUIRE(keep(*opened(folder / "foreign.db"), event("run", 1, agent::TurnStarted{1})));
  }
  fs::permissions(folder / "foreign.db", fs::perms::owner_read | fs::perms::others_read);
  CHECK(judge_refusal_as_user(folder, "foreign.db") == 0);
}

TEST_CASE("journal: a file for a folder, and the reverse, are storage.io", "[agent]") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "closed");
  write_bytes(folder / "file", "x");
  CHECK(judge_refusal(SqliteJournal::open(
            folder / "file/sessions.db", SessionSpec::Durability::process, no_secrets())) == 0);
  CHECK(judge_refusal(SqliteJournal::open(
            folder / "closed", SessionSpec::Durability::process, no_secrets())) == 0);
}

TEST_CASE("journal: a file that may not grow is storage.io, and what was written stays",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  CHECK(run_in_child([&] {
          const rlimit limit{.rlim_cur = 300'000, .rlim_max = 300'000};
          if (std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            return 7;
          }
          return fill(file);
        }) == 0);
  const auto back = read_run(file, "run");
  REQUIRE(back);
  CHECK(back->size() > 2);
}

TEST_CASE("journal: no run ends well in a file that is not there any more", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run-1", 1, agent::RunStarted{.agent_name = "a"})));
  const int way = GENERATE(0, 1, 2, 3, 4);
  CAPTURE(way);
  if (way == 0) {
    fs::remove(file);
  } else if (way == 1) {
    opened(folder / "other.db");
    fs::rename(folder / "other.db", file);
  } else if (way == 2) {
    fs::remove(fs::path(file) += "-wal");
  } else if (way == 3) {
    fs::rename(file, folder / "moved.db");
  } else {
    write_bytes(file, "");
  }
  // What is not yet the end may still find its file back.
  CHECK(keep(*journal, event("run-1", 2, agent::Warning{.message = "w"})));
  const agent::EventBody ending =
      GENERATE(agent::EventBody(agent::RunFinished{}), agent::EventBody(agent::RunParked{}));
  const auto ended = keep(*journal, event("run-1", 3, ending));
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::storage_io);
  CHECK_THAT(ended.error().message, Catch::Contains("taken away or replaced"));
}

TEST_CASE("journal: a run ends well where its file is back in its place", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run-1", 1, agent::RunStarted{.agent_name = "a"})));
  fs::rename(file, folder / "moved.db");
  fs::rename(folder / "moved.db", file);
  CHECK(keep(*journal, event("run-1", 2, agent::RunFinished{})));
}

TEST_CASE("journal: a full disk is storage.io", "[agent]") {
  const TemporaryFolder folder;
  constexpr int k_no_mount = 77;
  const int status = run_in_child([&] {
    // A small file system of its own, which goes away with the child.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=512k") != 0) {
      return k_no_mount;
    }
    const int filled = fill(folder / "sessions.db");
    const auto back = read_run(folder / "sessions.db", "run");
    return filled != 0 ? filled : (back && back->size() > 2 ? 0 : 8);
  });
  if (status == k_no_mount) {
    tests::skip("no file system can be mounted here");
  }
  CHECK(status == 0);
}

TEST_CASE("journal: a file that is none of ours is left as it is", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  const std::string what =
      GENERATE(as<std::string>(), "garbage", "short", "half", "other", "newer");
  INFO(what);
  if (what == "garbage") {
    write_bytes(file, std::string(50'000, 'g'));
  } else if (what == "short") {
    write_bytes(file, "not a database");
  } else if (what == "half") {
    {
      REQUIRE(keep(*opened(file, SessionSpec::Durability::full),
                   event("run", 1, agent::TurnStarted{1})));
    }
    write_bytes(file, bytes_of(file).substr(0, 4'096));
  } else if (what == "other") {
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
        .exec("CREATE TABLE notes(text)");
  } else {
    {
      opened(file, SessionSpec::Durability::full);
    }
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  }
  const std::string before = bytes_of(file);
  const auto journal = SqliteJournal::open(file, SessionSpec::Durability::process, no_secrets());
  REQUIRE_FALSE(journal);
  CHECK(journal.error().code == Code::storage_corrupt);
  CHECK_THAT(journal.error().message, Catch::Contains(file.string()));
  CHECK_FALSE(journal.error().help.empty());
  CHECK((journal.error().help == "take that newer errand, or name another file") ==
        (what == "newer"));
  CHECK(read_run(file, "run").error().code == Code::storage_corrupt);
  CHECK(bytes_of(file) == before);
}

TEST_CASE("journal: an event that cannot be understood is storage.corrupt, and named", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "sessions.db";
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run", 1, agent::TurnStarted{1})));
  REQUIRE(keep(*journal, event("run", 2, agent::TurnStarted{2})));
  const char* damaged = GENERATE("{\"type\":", "{}", "[]");
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement update(database, "UPDATE events SET json = ? WHERE seq = 2");
  update.bind(1, damaged);
  update.exec();
  const auto back = read_run(file, "run");
  REQUIRE_FALSE(back);
  CHECK(back.error().code == Code::storage_corrupt);
  CHECK_THAT(back.error().context.back(), Catch::Contains("event 2 of run run"));
}

TEST_CASE("journal: a run that is not there is storage.not_found", "[agent]") {
  const TemporaryFolder folder;
  CHECK(read_run(folder / "none.db", "run").error().code == Code::storage_not_found);
  CHECK_FALSE(fs::exists(folder / "none.db"));
  opened(folder / "sessions.db");
  CHECK(read_run(folder / "sessions.db", "run").error().code == Code::storage_not_found);
  write_bytes(folder / "empty.db", "");
  CHECK(read_run(folder / "empty.db", "run").error().code == Code::storage_not_found);
}

TEST_CASE("journal: cost", "[.bench]") {
  const TemporaryFolder folder;
  const auto since = [](std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  for (const auto durability : {SessionSpec::Durability::process, SessionSpec::Durability::full}) {
    const fs::path file =
        folder / (durability == SessionSpec::Durability::full ? "full.db" : "process.db");
    auto begin = std::chrono::steady_clock::now();
    auto journal = opened(file, durability);
    WARN("create: " << since(begin) << " us");
    REQUIRE(keep(*journal, event("run", 1, agent::RunStarted{.agent_name = "a"})));
    for (const std::size_t size : {200u, 30'000u}) {
      const Event each = event(
          "run", static_cast<std::int64_t>(size) * 10'000, finished_tool(std::string(size, 'x')));
      begin = std::chrono::steady_clock::now();
      constexpr int k_rounds = 1'000;
      for (int round = 0; round < k_rounds; ++round) {
        Event next = each;
        next.seq += round;
        REQUIRE(keep(*journal, next));
      }
      WARN("append " << size << " B: " << since(begin) / k_rounds << " us");
    }
    begin = std::chrono::steady_clock::now();
    journal.reset();
    WARN("close: " << since(begin) << " us");
    begin = std::chrono::steady_clock::now();
    journal = opened(file, durability);
    WARN("open: " << since(begin) << " us");
    begin = std::chrono::steady_clock::now();
    REQUIRE(keep(*journal, event("short", 1, agent::TurnStarted{1})));
    WARN("first append: " << since(begin) << " us");
    begin = std::chrono::steady_clock::now();
    journal.reset();
    WARN("close after one: " << since(begin) << " us");
  }
}
