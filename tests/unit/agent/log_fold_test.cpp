#include "agent/log_fold.h"

#include "agent/sha256.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::EventBody;

constexpr const char* k_good = R"({"path":"V"})";
constexpr const char* k_other = R"({"path":"W"})";

agent::ToolCall call_of(const std::string& arguments, const std::string& sum_of) {
  return {.id = "w1",
          .name = "write_file",
          .arguments = arguments,
          .arguments_sha256 = agent::sha256_hex(sum_of)};
}

EventBody responded(agent::ToolCall call) {
  agent::Reply reply;
  reply.tool_calls.push_back(std::move(call));
  reply.stop_reason = agent::StopReason::tool_use;
  return agent::ModelResponded{.turn = 1, .reply = std::move(reply)};
}

// What is wrong with the last of them.
std::string folded(const std::vector<EventBody>& bodies) {
  agent::LogFold log;
  std::string why;
  std::int64_t seq = 0;
  for (const EventBody& body : bodies) {
    CHECK(why.empty());
    why = log.add({.run_id = "run", .seq = ++seq, .body = body});
  }
  return why;
}

EventBody parked(agent::ToolCall call) {
  agent::RunParked parked{.turn = 1, .cwd = "/work"};
  parked.calls.push_back({.request = {.call = std::move(call)}});
  return parked;
}

}  // namespace

TEST_CASE("log fold: arguments that are not those that the model gave are seen", "[agent]") {
  const std::vector<EventBody> begun = {agent::RunStarted{}, agent::TurnStarted{1}};
  const auto with = [](std::vector<EventBody> bodies, EventBody last) {
    bodies.push_back(std::move(last));
    return bodies;
  };
  CHECK(folded(with(begun, responded(call_of(k_good, k_good)))).empty());
  CHECK_THAT(folded(with(begun, responded(call_of(k_other, k_good)))),
             Catch::Contains("the arguments of the call `w1`"));
  // A secret was taken out, or nobody has said their sum.
  CHECK(folded(with(begun, responded(call_of(R"({"path":"[redacted]"})", k_good)))).empty());
  CHECK(folded(with(begun, responded({.id = "w1", .name = "write_file", .arguments = k_other})))
            .empty());

  const auto said = with(begun, responded(call_of(k_good, k_good)));
  const agent::ToolCall other = call_of(k_good, k_other);
  CHECK(folded(with(said, parked(call_of(k_good, k_good)))).empty());
  CHECK_THAT(folded(with(said, parked(other))), Catch::Contains("other arguments"));
  CHECK_THAT(folded(with(said, agent::ApprovalRequested{.turn = 1, .request = {.call = other}})),
             Catch::Contains("other arguments"));
  agent::ToolStarted started{.turn = 1, .call_id = "w1", .name = "write_file", .arguments = k_good};
  started.arguments_sha256 = other.arguments_sha256;
  CHECK_THAT(folded(with(said, started)), Catch::Contains("other arguments"));
  // A hook may change the arguments: the sum stays the model's.
  started.arguments = k_other;
  started.arguments_sha256 = agent::sha256_hex(k_good);
  CHECK(folded(with(said, started)).empty());
}

namespace {

agent::Event in_place(std::int64_t seq, EventBody body) {
  return {.run_id = "r", .seq = seq, .time = {}, .body = std::move(body)};
}

}  // namespace

TEST_CASE("log fold: a turn does not begin before the calls of the last one have results",
          "[agent]") {
  agent::LogFold log;
  CHECK(log.is_empty());
  const agent::Reply reply{.tool_calls = {{"a", "shell", "{}"}, {"b", "shell", "{}"}}};
  REQUIRE(log.add(in_place(1, agent::RunStarted{.prompt = "go"})).empty());
  CHECK_FALSE(log.is_empty());
  REQUIRE(log.add(in_place(2, agent::TurnStarted{1})).empty());
  REQUIRE(log.add(in_place(3, agent::ModelResponded{.turn = 1, .reply = reply})).empty());
  agent::ToolFinished finished;
  finished.turn = 1;
  finished.result.call_id = "a";
  finished.result.name = "shell";
  REQUIRE(log.add(in_place(4, finished)).empty());
  CHECK(log.add(in_place(5, agent::TurnStarted{2})) ==
        "turn 2 has begun while the call `b` has no result");
  finished.result.call_id = "b";
  REQUIRE(log.add(in_place(5, finished)).empty());
  CHECK(log.add(in_place(6, agent::TurnStarted{2})).empty());
}
