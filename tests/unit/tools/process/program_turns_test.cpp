#include "tools/process/program_turns.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace {

using tools::ProgramTurns;
using Side = ProgramTurns::Side;
using Turn = ProgramTurns::Turn;

// Somebody who takes a turn on a thread of their own, and gives it back at the end of this.
class Taker {
 public:
  Taker(ProgramTurns& turns, Side side)
      : thread_([this, &turns, side](const std::stop_token& stop) {
          const Turn turn = turns.take(side, stop_waiting_.get_token());
          has_turn_ = true;
          while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}

  void stop_waiting() { stop_waiting_.request_stop(); }
  bool comes_to_it() const {
    for (int tries = 0; tries < 10'000 && !has_turn_; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return has_turn_;
  }
  bool waits() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return !has_turn_;
  }

 private:
  std::stop_source stop_waiting_;
  std::atomic<bool> has_turn_ = false;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace

TEST_CASE("program turns: many of one side, or many of the other", "[tools]") {
  const auto [one, other] =
      GENERATE(std::pair(Side::tools, Side::user), std::pair(Side::user, Side::tools));
  ProgramTurns turns;
  std::optional<Taker> first(std::in_place, turns, one);
  CHECK(first->comes_to_it());
  std::optional<Taker> second(std::in_place, turns, one);
  CHECK(second->comes_to_it());
  const Taker later(turns, other);
  CHECK(later.waits());
  first.reset();
  CHECK(later.waits());
  second.reset();
  CHECK(later.comes_to_it());
}

TEST_CASE("program turns: no new tool comes before a user's command that waits", "[tools]") {
  ProgramTurns turns;
  std::optional<Taker> tool(std::in_place, turns, Side::tools);
  CHECK(tool->comes_to_it());
  std::optional<Taker> hook(std::in_place, turns, Side::user);
  CHECK(hook->waits());
  const Taker another(turns, Side::tools);
  CHECK(another.waits());
  tool.reset();
  CHECK(hook->comes_to_it());
  CHECK(another.waits());
  hook.reset();
  CHECK(another.comes_to_it());
}

TEST_CASE("program turns: nobody waits once they are told to stop", "[tools]") {
  ProgramTurns turns;
  const Taker tool(turns, Side::tools);
  CHECK(tool.comes_to_it());
  Taker hook(turns, Side::user);
  CHECK(hook.waits());
  hook.stop_waiting();
  CHECK(hook.comes_to_it());
}
