#include "agent/store/journal_watch.h"

#include "tests/support/journal.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Event;
using agent::store::JournalWatch;
using std::chrono::system_clock;
using Names = std::vector<std::string>;

// A run of that name, begun then.
Event beginning(const std::string& run_id,
                const std::string& parent,
                system_clock::time_point time = system_clock::now(),
                std::int64_t seq = 1) {
  return {.run_id = run_id,
          .parent = parent,
          .seq = seq,
          .time = time,
          .body = agent::RunStarted{.agent_name = run_id}};
}

Event answer(const std::string& run_id, std::int64_t seq) {
  return {
      .run_id = run_id, .seq = seq, .time = system_clock::now(), .body = agent::ModelResponded{}};
}

bool is_nobodys(const std::string& /*run_id*/, std::chrono::milliseconds /*begun*/) {
  return false;
}

// "a 2" for the second event of the run a.
Names told(JournalWatch& watch, const JournalWatch::IsOurs& is_ours = is_nobodys) {
  Names names;
  REQUIRE(watch.look(is_ours, [&](const Event& event) {
    names.push_back(event.run_id + " " + std::to_string(event.seq));
  }));
  return names;
}

}  // namespace

TEST_CASE("journal watch: what works for a run is told, each event once", "[agent]") {
  const tests::TemporaryFolder folder;
  const auto file = folder.path() / "journal.db";
  const auto journal = tests::opened(file);
  const auto write = [&](std::vector<Event> events) {
    for (Event& event : events) {
      journal->append(std::move(event));
    }
    REQUIRE(journal->commit());
  };
  const auto hour = std::chrono::hours(1);
  write({beginning("whole", "")});
  write({beginning("old", "whole", system_clock::now() - hour)});
  write({beginning("strange", "another"), beginning("late", "whole", system_clock::now() + hour)});
  const auto watch = JournalWatch::open(file, "whole");
  REQUIRE(watch);
  CHECK(told(**watch).empty());
  write({answer("old", 2), answer("strange", 2)});
  CHECK(told(**watch) == Names{"old 2"});  // it was at work already
  write({beginning("new", "old"), answer("new", 2), answer("old", 3)});
  CHECK(told(**watch) == Names{"new 2", "old 3"});
  Event fork = beginning("fork", "whole", system_clock::now(), 2);
  std::get<agent::RunStarted>(fork.body).forked_from =
      agent::ForkedFrom{.run_id = "old", .turn = 1};
  write({beginning("fork", "whole"), std::move(fork), answer("fork", 3)});
  write({beginning("below", "fork"), answer("below", 2)});
  const auto begun = system_clock::now();
  write({beginning("ours", "whole", begun), answer("ours", 2)});
  const auto is_ours = [&](const std::string& run_id, std::chrono::milliseconds time) {
    return run_id == "ours" &&
           time == std::chrono::floor<std::chrono::milliseconds>(begun.time_since_epoch());
  };
  CHECK(told(**watch, is_ours).empty());
  write({answer("late", 2)});
  CHECK(told(**watch, is_ours) == Names{"late 2"});
}
