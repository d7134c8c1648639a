#include "agent/store/wal_file.h"

#include "agent/store/check.h"
#include "agent/store/runs.h"
#include "tests/support/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <sys/stat.h>

namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::store::check_journal;
using agent::store::look_into_wal;
using agent::store::mend_journal;
using tests::bytes_of;
using tests::event;
using tests::keep;
using tests::opened;
using tests::TemporaryFolder;
using tests::write_bytes;

constexpr std::size_t k_header = 32;
constexpr std::size_t k_frame = 24 + 4'096;
constexpr int k_events = 12;

// A run, an event a transaction, all of them in the -wal file.
void make_waiting(const fs::path& file) {
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run-1", 1, agent::RunStarted{.agent_name = "a", .cwd = "/work"})));
  for (int seq = 2; seq <= k_events; ++seq) {
    REQUIRE(keep(*journal, event("run-1", seq, agent::Warning{.message = std::string(700, 'x')})));
  }
}

fs::path wal_of(const fs::path& file) {
  return fs::path(file) += "-wal";
}

std::size_t frames_in(const fs::path& file) {
  return (fs::file_size(wal_of(file)) - k_header) / k_frame;
}

void flip(const fs::path& file, std::size_t at) {
  std::string bytes = bytes_of(file);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
  write_bytes(file, bytes);
}

std::size_t events_of(const fs::path& file) {
  const auto texts = agent::store::read_run_texts(file, "run-1");
  return texts ? texts->size() : 0;
}

}  // namespace

TEST_CASE("wal file: one that is whole is taken as SQLite takes it", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  CHECK_FALSE(look_into_wal(file)->is_damaged());
  make_waiting(file);
  const auto look = look_into_wal(file);
  REQUIRE(look);
  CHECK_FALSE(look->is_damaged());
  CHECK(look->readable == static_cast<std::int64_t>(frames_in(file)));
  CHECK(look->pages.size() == frames_in(file));
  CHECK(look->database_pages >= 6);
  // While others write it as well.
  const auto journal = opened(file);
  REQUIRE(keep(*journal, event("run-2", 1, agent::RunStarted{.agent_name = "a"})));
  CHECK_FALSE(look_into_wal(file)->is_damaged());
}

TEST_CASE("wal file: a damage is seen before SQLite drops what comes behind it", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const std::size_t frames = frames_in(file);
  REQUIRE(frames > 30);
  const std::size_t at =
      GENERATE_COPY(std::size_t{0},                                  // the magic number
                    std::size_t{13},                                 // of the header
                    std::size_t{18},                                 // a salt of it
                    std::size_t{25},                                 // its sum
                    k_header + 2 * k_frame + 2,                      // a page's number
                    k_header + 9 * k_frame + 9,                      // a salt
                    k_header + 9 * k_frame + 17,                     // a sum
                    k_header + 9 * k_frame + 24 + 4'000,             // a page
                    k_header + (frames * 7 / 10) * k_frame + 2'024,  // another one
                    k_header + 24 + 100);                            // the first one
  INFO("byte " << at << " of " << frames << " frames");
  flip(wal_of(file), at);
  const std::string damaged = bytes_of(wal_of(file));
  CHECK(look_into_wal(file)->is_damaged());
  // Nobody reads or writes it: what is behind the damage would be lost.
  const auto listed = agent::store::list_runs(file, {});
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == Code::storage_corrupt);
  CHECK_THAT(listed.error().help, Catch::Contains("errand runs doctor --fix"));
  const auto writing = agent::store::SqliteJournal::open(
      file, agent::SessionSpec::Durability::process, tests::no_secrets());
  REQUIRE_FALSE(writing);
  CHECK(writing.error().code == Code::storage_corrupt);
  const auto report = check_journal(file);
  REQUIRE(report);
  REQUIRE(report->findings.size() == 1);
  CHECK_THAT(report->findings.front().what, Catch::Contains("-wal file"));
  CHECK(report->findings.front().can_be_mended);
  CHECK(bytes_of(wal_of(file)) == damaged);

  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  CHECK(bytes_of(wal_of(mended->copy)) == damaged);
  // Pages that a later transaction wrote again are whole; of the others it is said.
  if (mended->lost.empty()) {
    CHECK(mended->after.findings.empty());
  }
  CHECK(events_of(file) >= k_events - 5);
  CHECK_FALSE(look_into_wal(file)->is_damaged());
  REQUIRE(keep(*opened(file), event("run-2", 1, agent::RunStarted{.agent_name = "a"})));
}

TEST_CASE("wal file: of a damaged page that was written again nothing is lost", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const auto look = look_into_wal(file);
  REQUIRE(look);
  // The first frame of a page that has a later one.
  std::size_t frame = 1;
  const auto is_written_again = [&](std::size_t at) {
    return std::count(look->pages.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                      look->pages.end(),
                      look->pages[at]) > 0;
  };
  while (!is_written_again(frame)) {
    ++frame;
  }
  flip(wal_of(file), k_header + frame * k_frame + 2'000);
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(mended->lost.empty());
  CHECK(mended->after.findings.empty());
  CHECK(events_of(file) == k_events);
}

TEST_CASE("wal file: without its beginning, what of its frames can be recognised is saved",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const std::size_t zeroed =
      GENERATE(std::size_t{32}, std::size_t{56}, std::size_t{4'096}, k_header + 3 * k_frame);
  CAPTURE(zeroed);
  std::string bytes = bytes_of(wal_of(file));
  bytes.replace(0, zeroed, zeroed, '\0');
  write_bytes(wal_of(file), bytes);
  CHECK(look_into_wal(file)->has_damaged_header);
  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  CHECK(events_of(file) == k_events);  // each of its pages was written again later
  CHECK(mended->lost.empty() == (zeroed == 32));
  if (zeroed != 32) {
    CHECK_THAT(mended->lost.front().what, Catch::Contains("pages are lost"));
  }
  CHECK_FALSE(look_into_wal(file)->is_damaged());
}

TEST_CASE("wal file: what is not recognised at all is lost, and that is said", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const std::size_t size = GENERATE(std::size_t{7}, std::size_t{40}, std::size_t{9'000});
  CAPTURE(size);
  write_bytes(wal_of(file), std::string(size, '\0'));
  CHECK(look_into_wal(file)->is_damaged());
  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  REQUIRE_FALSE(mended->lost.empty());
  CHECK_THAT(mended->lost.front().what, Catch::Contains("nothing of the -wal file"));
  CHECK_FALSE(mended->after.findings.empty());
  CHECK_FALSE(look_into_wal(file)->is_damaged());
}

TEST_CASE("wal file: of one transaction, too, a damage is none of a transaction cut off",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  {
    const auto journal = opened(file);
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("PRAGMA wal_checkpoint(RESTART)");
    REQUIRE(keep(*journal, event("run-1", 1, agent::RunStarted{.agent_name = "a"})));
  }
  const std::size_t at = GENERATE(std::size_t{40}, std::size_t{3'000}, k_header + k_frame + 9);
  CAPTURE(at);
  flip(wal_of(file), at);
  CHECK(look_into_wal(file)->is_damaged());
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  CHECK(events_of(file) == 1);
  CHECK(mended->lost.empty() == (at != 3'000));  // no sum counts the salts in
}

TEST_CASE("wal file: a page whose number cannot be is not put into the journal", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const std::uintmax_t before = fs::file_size(file);
  flip(wal_of(file), k_header + 9 * k_frame);  // the highest byte of its number
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  REQUIRE_FALSE(mended->lost.empty());
  CHECK_THAT(mended->lost.front().what, Catch::Contains("of the -wal file 1 of "));
  CHECK(fs::file_size(file) <= before + 100 * 4'096);
}

TEST_CASE("wal file: what may hold something else than was written is said", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const auto look = look_into_wal(file);
  REQUIRE(look);
  // The last frame of a page, with two transactions behind it.
  std::size_t frame = look->pages.size() - 12;
  while (std::count(look->pages.begin() + static_cast<std::ptrdiff_t>(frame) + 1,
                    look->pages.end(),
                    look->pages[frame]) > 0) {
    --frame;
  }
  flip(wal_of(file), k_header + frame * k_frame + 24 + 3'900);  // within an event's text
  const auto mended = mend_journal(file);
  REQUIRE(mended);
  REQUIRE_FALSE(mended->lost.empty());
  CHECK(mended->lost.front().what ==
        fmt::format("pages of the -wal file were damaged, and are as they were found: {} of the "
                    "journal",
                    look->pages[frame]));
}

TEST_CASE("wal file: a transaction that was cut off is no damage", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const std::string whole = bytes_of(wal_of(file));
  const auto frames = static_cast<std::size_t>(look_into_wal(file)->readable);
  const std::size_t cut = GENERATE(1U, 24U, 25U, 4'120U, 4'121U);
  write_bytes(wal_of(file), whole.substr(0, whole.size() - cut));
  CHECK_FALSE(look_into_wal(file)->is_damaged());
  CHECK(events_of(file) == k_events - 1);
  // What is left of a longer one that was not committed, behind a shorter one that was: frames of
  // this round, with another's sums, and a mark at the end.
  std::string stale = whole;
  stale += whole.substr(k_header + (frames - 3) * k_frame);
  write_bytes(wal_of(file), stale);
  const auto look = look_into_wal(file);
  CHECK_FALSE(look->is_damaged());
  CHECK(look->readable == static_cast<std::int64_t>(frames));
  CHECK(events_of(file) == k_events);
}

TEST_CASE("wal file: what is no regular file is not opened", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  fs::remove(wal_of(file));
  REQUIRE(mkfifo(wal_of(file).c_str(), 0600) == 0);
  const auto listed = agent::store::list_runs(file, {});
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == Code::storage_io);
}

TEST_CASE("wal file: what is left of a journal that is gone or empty is not thrown away",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const std::string left = bytes_of(wal_of(file));
  const bool is_gone = GENERATE(true, false);
  if (is_gone) {
    fs::remove(file);
  } else {
    write_bytes(file, "");
  }
  CAPTURE(is_gone);
  // Nobody reads or writes it, and nobody makes a new one.
  const auto listed = agent::store::list_runs(file, {});
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == Code::storage_corrupt);
  CHECK_THAT(listed.error().help, Catch::Contains("errand runs doctor --fix"));
  const auto writing = agent::store::SqliteJournal::open(
      file, agent::SessionSpec::Durability::process, tests::no_secrets());
  REQUIRE_FALSE(writing);
  CHECK(writing.error().code == Code::storage_corrupt);
  const auto report = check_journal(file);
  REQUIRE(report);
  REQUIRE(report->findings.size() == 1);
  CHECK_FALSE(report->is_sound);
  CHECK(report->findings.front().can_be_mended);
  CHECK(agent::store::holds_nothing(file));
  CHECK(bytes_of(wal_of(file)) == left);

  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  CHECK(mended->lost.empty());
  CHECK(mended->after.findings.empty());
  CHECK(fs::exists(mended->copy));
  CHECK(bytes_of(is_gone ? mended->copy : wal_of(mended->copy)) == left);
  CHECK(events_of(file) == k_events);
  REQUIRE(keep(*opened(file), event("run-2", 1, agent::RunStarted{.agent_name = "a"})));
}

TEST_CASE("wal file: what only the file that is gone had is said to be lost", "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  {
    const auto journal = opened(file);  // the file has all until now, and a new round begins
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("PRAGMA wal_checkpoint(RESTART)");
    REQUIRE(keep(*journal, event("run-1", k_events + 1, agent::Warning{.message = "x"})));
  }
  fs::remove(file);
  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  REQUIRE_FALSE(mended->lost.empty());
  CHECK_THAT(mended->lost.front().what, Catch::Contains("pages were in the file that is gone"));
  CHECK_FALSE(mended->after.findings.empty());
  REQUIRE(keep(*opened(file), event("run-2", 1, agent::RunStarted{.agent_name = "a"})));
}

TEST_CASE("wal file: with a damaged beginning, what is left of a journal is restored as well",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  flip(wal_of(file), 25);
  fs::remove(file);
  REQUIRE(check_journal(file)->findings.size() == 1);
  const auto mended = mend_journal(file);
  if (!mended) {
    FAIL(mended.error().message);
  }
  CHECK(events_of(file) == k_events);
}

TEST_CASE("wal file: one in which nothing was committed keeps nobody from a new journal",
          "[agent]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "journal.db";
  make_waiting(file);
  const std::string left = bytes_of(wal_of(file));
  fs::remove(file);
  write_bytes(wal_of(file), GENERATE_COPY(left.substr(0, k_header), std::string()));
  REQUIRE(keep(*opened(file), event("run-1", 1, agent::RunStarted{.agent_name = "a"})));
  CHECK(events_of(file) == 1);
}
