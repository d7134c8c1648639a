#include "agent/store/owner.h"

#include "agent/duration.h"
#include "agent/store/runs.h"
#include "tests/support/journal.h"

#include <catch2/catch.hpp>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::store::Owner;
using agent::store::RunClaim;
using agent::store::RunClaims;
using agent::store::RunStatus;
using tests::event;
using tests::keep;
using tests::opened;
using tests::TemporaryFolder;

agent::RunStarted start() {
  return {.agent_name = "worker", .cwd = "/work"};
}

RunStatus status_in(const fs::path& file, const std::string& run_id) {
  const auto run = agent::store::run_info(file, run_id);
  if (!run) {
    FAIL(run.error().message);
  }
  return run->status;
}

// A process that has begun a run, and waits.
class Other {
 public:
  Other(const fs::path& file, const std::string& run_id) {
    std::array<int, 2> told{};
    REQUIRE(pipe(told.data()) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      alarm(60);
      const auto journal = agent::store::SqliteJournal::open(
          file, agent::SessionSpec::Durability::process, tests::no_secrets());
      if (!journal || !keep(**journal, event(run_id, 1, start())) || write(told[1], "x", 1) != 1) {
        _exit(1);
      }
      pause();
      _exit(2);
    }
    close(told[1]);
    char begun = 0;
    REQUIRE(read(told[0], &begun, 1) == 1);
    close(told[0]);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  ~Other() { end(); }

  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      pid_ = 0;
    }
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("owner: is read back from its text, and from nothing else", "[agent]") {
  const Owner owner = agent::store::this_process();
  CHECK(owner.pid == getpid());
  CHECK_FALSE(owner.host.empty());
  CHECK(agent::store::owner_from_text(agent::store::to_text(owner)) == owner);
  const char* text = GENERATE("", "{}", "[1]", "{\"pid\":1,\"host\":\"a\"}", "{\"since\":1}");
  CHECK(agent::store::owner_from_text(text) == std::nullopt);
}

TEST_CASE("owner: a run is claimed once, each by itself, until the claim is gone", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  CHECK_FALSE(RunClaims(file).is_any_claimed());
  {
    const auto first = RunClaim::take(file, "run-a");
    REQUIRE((first && *first));
    CHECK((*first)->run_id() == "run-a");
    CHECK(RunClaim::take(file, "run-a").value().has_value() == false);
    CHECK(RunClaim::take(file, "run-b").value().has_value());
    CHECK(RunClaims(file).is_claimed("run-a"));
    CHECK_FALSE(RunClaims(file).is_claimed("run-b"));
    CHECK(RunClaims(file).is_any_claimed());
    // Who has it is seen before the journal says so.
    CHECK(agent::store::taken("run-a", std::nullopt).error().message ==
          "process " + std::to_string(getpid()) + " on " + agent::store::this_process().host +
              " has the run run-a");
    CHECK(agent::store::taken("run-c", std::nullopt).error().message ==
          "another process has the run run-c");
  }
  CHECK_FALSE(RunClaims(file).is_any_claimed());
  CHECK(RunClaim::take(file, "run-a").value().has_value());
  struct stat found{};
  REQUIRE(stat(agent::store::claims_file(file).c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  CHECK(found.st_size == 0);
}

TEST_CASE("owner: where no claim can be made, that is storage.io", "[agent]") {
  const TemporaryFolder folder;
  CHECK(RunClaim::take(folder / "missing/journal.db", "run").error().code == Code::storage_io);
  fs::create_symlink(folder / "elsewhere", agent::store::claims_file(folder / "journal.db"));
  CHECK(RunClaim::take(folder / "journal.db", "run").error().code == Code::storage_io);
  CHECK_FALSE(fs::exists(folder / "elsewhere"));
  fs::create_directory(agent::store::claims_file(folder / "other.db"));
  CHECK_THAT(RunClaim::take(folder / "other.db", "run").error().help,
             Catch::Contains("take that folder away"));
}

TEST_CASE("journal: a run belongs to the process that began it, until it has finished", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run", 1, start())));
  CHECK(status_in(file, "run") == RunStatus::running);
  CHECK(journal->claim("run"));  // it has it
  const auto other = opened(file);
  const auto refused = other->claim("run");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::cli_usage);
  const auto owner = agent::store::run_info(file, "run")->owner;
  REQUIRE(owner);
  CHECK(owner->pid == getpid());
  CHECK(refused.error().message == "process " + std::to_string(getpid()) + " on " + owner->host +
                                       " has the run run, since " +
                                       agent::format_time(owner->since));
  CHECK_FALSE(refused.error().help.empty());

  REQUIRE(keep(*journal, event("run", 2, agent::RunFinished{})));
  CHECK(status_in(file, "run") == RunStatus::ok);
  CHECK(other->claim("run"));
  CHECK_FALSE(journal->claim("run"));
}

TEST_CASE("journal: a run is let go of with the journal", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  auto journal = opened(file);
  REQUIRE(keep(*journal, event("run", 1, start())));
  journal.reset();
  CHECK(status_in(file, "run") == RunStatus::interrupted);
  CHECK(opened(file)->claim("run"));
}

TEST_CASE("journal: a run that another process has does not begin again", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  opened(file);
  Other other(file, "run");
  const auto journal = opened(file);
  CHECK(status_in(file, "run") == RunStatus::running);
  const auto claimed = journal->claim("run");
  REQUIRE_FALSE(claimed);
  CHECK_THAT(claimed.error().message,
             Catch::StartsWith("process " + std::to_string(other.pid()) + " on "));
  CHECK(keep(*journal, event("run", 2, start())).error().code == Code::cli_usage);
  CHECK(agent::store::read_run(file, "run")->size() == 1);

  other.end();  // killed: what it leaves behind does not block
  CHECK(status_in(file, "run") == RunStatus::interrupted);
  REQUIRE(journal->claim("run"));
  REQUIRE(keep(*journal, event("run", 2, start())));
  CHECK(status_in(file, "run") == RunStatus::running);
  CHECK(agent::store::run_info(file, "run")->owner->pid == getpid());
}

TEST_CASE("journal: of many processes that claim one run, one has it", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  REQUIRE(keep(*opened(file), event("run", 1, start())));
  std::array<int, 2> gun{};
  std::array<int, 2> told{};
  REQUIRE(pipe(gun.data()) == 0);
  REQUIRE(pipe(told.data()) == 0);
  std::array<pid_t, 12> children{};
  for (pid_t& child : children) {
    child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(60);
      close(gun[1]);
      char none = 0;
      const auto journal = agent::store::SqliteJournal::open(
          file, agent::SessionSpec::Durability::process, tests::no_secrets());
      if (!journal || read(gun[0], &none, 1) != 0) {
        _exit(9);
      }
      const bool is_mine = (*journal)->claim("run").has_value();
      if (write(told[1], is_mine ? "1" : "0", 1) != 1) {
        _exit(8);
      }
      pause();  // nobody lets go before all have tried
      _exit(7);
    }
  }
  close(gun[0]);
  close(gun[1]);
  int owners = 0;
  for (std::size_t at = 0; at < children.size(); ++at) {
    char answer = 0;
    REQUIRE(read(told[0], &answer, 1) == 1);
    owners += answer == '1' ? 1 : 0;
  }
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  close(told[0]);
  close(told[1]);
  CHECK(owners == 1);
}

TEST_CASE("owner: a run has one, by whichever name of its journal", "[agent]") {
  const tests::TemporaryFolder folder;
  tests::write_bytes(folder / "j.db", "");
  std::filesystem::create_symlink(folder / "j.db", folder / "l.db");
  const auto first = agent::store::RunClaim::take(folder / "j.db", "r");
  REQUIRE(first);
  REQUIRE(*first);
  const auto second = agent::store::RunClaim::take(folder / "l.db", "r");
  REQUIRE(second);
  CHECK_FALSE(*second);
  CHECK(agent::store::RunClaims(folder / "l.db").is_claimed("r"));
}

TEST_CASE("owner: whoever is gone, or has no claim, is not said to have a run", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  agent::store::Owner recorded = agent::store::this_process();
  CHECK_FALSE(agent::store::living(recorded, "run"));
  CHECK_FALSE(agent::store::living(std::nullopt, "run"));
  const auto claim = RunClaim::take(file, "run");
  REQUIRE(claim);
  CHECK(agent::store::living(recorded, "run") == recorded);
  CHECK_FALSE(agent::store::living(recorded, "another"));
  recorded.pid = INT32_MAX;  // no machine counts so far
  CHECK_FALSE(agent::store::living(recorded, "run"));
  recorded.host = "elsewhere";  // that is not seen from here
  CHECK(agent::store::living(recorded, "run") == recorded);
}

TEST_CASE("journal: who has a run is not said to be the one that was killed", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  opened(file);
  Other other(file, "run");
  other.end();
  const auto journal = opened(file);
  REQUIRE(journal->claim("run"));  // and has written nothing yet
  const auto refused = opened(file)->claim("run");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "process " + std::to_string(getpid()) + " on " +
                                       agent::store::this_process().host + " has the run run");
  const auto info = agent::store::run_info(file, "run");
  CHECK(info->status == RunStatus::running);
  CHECK_FALSE(info->owner);
}
