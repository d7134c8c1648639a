// The clock and the tools of a recorded run, and of its replay.
#include "providers/recording/run_io.h"

#include "providers/recording/recorded_clock.h"
#include "providers/recording/recorded_toolbox.h"
#include "tests/support/fakes.h"
#include "tests/unit/providers/recording/recording_support.h"

#include <chrono>
#include <thread>

using namespace std::chrono_literals;
using providers::Timings;
using tests::PlayedHttp;
using tests::post;
using tests::send;

namespace {

struct Watcher final : agent::ToolWatcher {
  bool started(const agent::ToolCall& call) override {
    seen.push_back("started " + call.id + " " + call.arguments);
    return true;
  }
  void output(const agent::ToolCall& call, std::string_view chunk) override {
    seen.push_back("output " + call.id + " " + std::string(chunk));
  }
  void finished(const agent::ToolResult& result) override {
    seen.push_back("finished " + result.call_id + " " + result.content + " " +
                   std::to_string(result.duration_ms));
  }
  std::vector<std::string> seen;
};

}  // namespace

TEST_CASE("io: a replayed clock reads what the recorded one read", "[providers]") {
  providers::RecordingTimings recorded;
  const providers::RecordingClock clock(recorded);
  std::vector<agent::Clock::Wall> walls;
  std::vector<agent::Clock::Steady::duration> steps;
  const auto begin = clock.now();
  for (int count = 0; count < 5; ++count) {
    std::this_thread::sleep_for(1ms);
    walls.push_back(clock.wall());
    steps.push_back(clock.now() - begin);
  }

  providers::ReplayingTimings timings;
  timings.play(recorded.take());
  const providers::ReplayingClock replayed(clock.start(), timings);
  const auto again = replayed.now();
  for (std::size_t at = 0; at < walls.size(); ++at) {
    CHECK(replayed.wall() == walls[at]);
    CHECK(replayed.now() - again == steps[at]);
  }
  CHECK(replayed.wall() - walls.back() < 2ms);  // used up: the last reading stays
}

TEST_CASE("io: readings of other threads are nobody's business", "[providers]") {
  providers::RecordingTimings recorded;
  const providers::RecordingClock clock(recorded);
  std::jthread([&] { (void)clock.now(); }).join();
  CHECK(recorded.take().clock.empty());

  providers::ReplayingTimings timings;
  timings.play({.clock = {5}, .tools = {}});
  const providers::ReplayingClock replayed(clock.start(), timings);
  std::jthread([&] { (void)replayed.wall(); }).join();
  CHECK(replayed.wall() == clock.start() + 5ms);
}

TEST_CASE("io: the run's own waits are over at once", "[providers]") {
  providers::ReplayingTimings timings;
  providers::ReplayingClock clock({}, timings);
  CHECK(clock.sleep_for(24h, {}));
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(clock.sleep_for(24h, stop.get_token()));
}

TEST_CASE("io: a replay is in step again at the next exchange, and time never goes back",
          "[providers]") {
  providers::ReplayingTimings timings;
  timings.play({.clock = {1, 2, 3}, .tools = {}});
  CHECK(timings.next_time() == 1);
  timings.play_clock({7});
  CHECK(timings.next_time() == 7);
  CHECK(timings.next_time() == 7);
  timings.play({.clock = {5, 9}, .tools = {}});
  CHECK(timings.next_time() == 7);
  CHECK(timings.next_time() == 9);
}

TEST_CASE("io: a replay is in step again when the tools have ended", "[providers]") {
  providers::RecordingTimings recorded;
  recorded.note_time(1);
  recorded.note_time(2);
  recorded.end_tools();
  recorded.note_time(9);
  recorded.note_time(12);
  const Timings timings = recorded.take();

  for (const int readings : {0, 2, 5}) {  // as often as the tools spoke
    providers::ReplayingTimings replayed;
    replayed.play(timings);
    for (int count = 0; count < readings; ++count) {
      (void)replayed.next_time();
    }
    replayed.end_tools();
    CHECK(replayed.next_time() == 9);
    CHECK(replayed.next_time() == 12);
  }
}

TEST_CASE("io: tools' times are noted in the order in which the calls ended", "[providers]") {
  tests::FakeToolbox tools([](const agent::ToolCall& call) {
    return agent::ToolResult{.content = "ok", .duration_ms = call.id == "a" ? 5 : 7};
  });
  providers::RecordingTimings timings;
  providers::RecordingToolbox recording(tools, timings);
  Watcher watcher;
  recording.run(std::vector<agent::ToolCall>{{"a", "x", "{}"}, {"b", "x", "{}"}}, watcher, {}, {});
  CHECK(timings.take().tools == std::vector<Timings::ToolTime>{{"a", 5}, {"b", 7}});
  CHECK(watcher.seen.size() == 4);
}

TEST_CASE("io: calls end in the recorded order and with the recorded times", "[providers]") {
  tests::FakeToolbox tools(
      [](const agent::ToolCall&) { return agent::ToolResult{.content = "ok", .duration_ms = 1}; });
  providers::ReplayingTimings timings;
  timings.play({.clock = {}, .tools = {{"b", 70}, {"a", 50}, {"gone", 1}, {"c", 30}}});
  providers::ReplayingToolbox replaying(tools, timings, {});
  Watcher watcher;
  const std::vector<agent::ToolCall> calls = {
      {"a", "x", "{}"}, {"new", "x", "{}"}, {"b", "x", "{}"}, {"c", "x", "{}"}};
  const auto results = replaying.run(calls, watcher, {}, {});
  CHECK(watcher.seen == std::vector<std::string>{"started a {}",
                                                 "started new {}",
                                                 "finished new ok 1",
                                                 "started b {}",
                                                 "finished b ok 70",
                                                 "finished a ok 50",
                                                 "started c {}",
                                                 "finished c ok 30"});
  REQUIRE(results.size() == 4);
  CHECK(results[0].duration_ms == 50);
  CHECK(results[1].duration_ms == 1);
}

TEST_CASE("io: the run's folder has its recorded name in the conversation", "[providers]") {
  std::string seen_by_tool;
  tests::FakeToolbox tools([&](const agent::ToolCall& call) {
    seen_by_tool = call.arguments;
    return agent::ToolResult{.content = "in /tmp/now/f, twice: /tmp/now/f",
                             .full_output = "/tmp/now/f"};
  });
  providers::ReplayingTimings timings;
  providers::ReplayingToolbox replaying(
      tools, timings, {.recorded = "/tmp/then", .now = "/tmp/now"});
  Watcher watcher;
  const auto results = replaying.run(
      std::vector<agent::ToolCall>{{"a", "x", R"({"path":"/tmp/then/f"})"}}, watcher, {}, {});
  CHECK(seen_by_tool == R"({"path":"/tmp/now/f"})");
  CHECK(watcher.seen ==
        std::vector<std::string>{R"(started a {"path":"/tmp/then/f"})",
                                 "finished a in /tmp/then/f, twice: /tmp/then/f 0"});
  CHECK(results[0].full_output == "/tmp/then/f");
}

TEST_CASE("tape: the runs of a whole are in one file, and each replays its own", "[providers]") {
  const tests::TapeFolder folder;
  const agent::Redactor secrets{agent::Environment{}};
  PlayedHttp http({{.pieces = {"of the whole"}}, {.pieces = {"of the member"}}});
  {
    const auto tape = providers::recording_tape(folder.file(), secrets);
    CHECK_FALSE(tape->is_replay());
    const auto whole = tape->open({.run_id = "w", .store = "auto"}, http);
    const auto member = tape->open({.member = "fix[1]", .run_id = "m", .folder = "/tmp/m"}, http);
    REQUIRE(whole);
    REQUIRE(member);
    send((*whole)->http(), post("1"));
    send((*member)->http(), post("1"));
    CHECK((*member)->took("make", 7ms) == 7ms);
    (*member)->finish();
    (*whole)->finish();
    CHECK_FALSE(tape->failure());
  }

  auto cassette = providers::read_cassette(folder.file());
  REQUIRE(cassette);
  PlayedHttp nobody({});
  const auto tape = providers::replaying_tape(*std::move(cassette), secrets);
  CHECK(tape->is_replay());
  CHECK(tape->run_id_of("fix[1]") == "m");
  CHECK(tape->run_id_of("fix[2]") != tape->run_id_of("fix[2]"));  // new ones
  const auto member = tape->open({.member = "fix[1]", .run_id = "m", .folder = "/tmp/now"}, nobody);
  const auto whole = tape->open({.run_id = "w"}, nobody);
  REQUIRE(member);
  REQUIRE(whole);
  CHECK((*whole)->store() == "auto");
  CHECK(send((*member)->http(), post("1")).pieces == std::vector<std::string>{"of the member"});
  CHECK(send((*whole)->http(), post("1")).pieces == std::vector<std::string>{"of the whole"});
  CHECK((*member)->took("make", 9ms) == 7ms);
  CHECK((*member)->took("other", 9ms) == 9ms);
  CHECK((*member)->said("in /tmp/now/f") == "in /tmp/m/f");

  const auto unknown = tape->open({.member = "fix[2]"}, nobody);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == agent::Code::replay_miss);
}
