#include "agent/outcome.h"

#include "agent/error.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace {

bool is_forbidden(int code) {
  constexpr std::array never = {64, 67, 68, 72, 79, 99, 100, 101, 125, 126, 127, 255};
  return (code >= 3 && code <= 63) || std::ranges::find(never, code) != never.end();
}

}  // namespace

TEST_CASE("exit table: numbers and names are unique, and none is another tool's", "[agent]") {
  std::set<int> codes;
  std::set<std::string_view> names;
  for (const agent::ExitRow& row : agent::exit_table()) {
    INFO(row.name);
    CHECK(codes.insert(row.exit_code).second);
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(is_forbidden(row.exit_code));
    CHECK_FALSE(row.when.empty());
  }
}

TEST_CASE("error table: each exit code of an error stands in the exit table", "[agent]") {
  for (const agent::CodeRow& row : agent::error_table()) {
    INFO(row.name);
    CHECK(agent::code_from_name(row.name) == row.code);
    CHECK_FALSE(row.advice.empty());
    if (row.exit_code != 0) {
      CHECK(agent::exit_row(row.exit_code).exit_code == row.exit_code);
    }
  }
  CHECK_FALSE(agent::code_from_name("provider.nonsense"));
}

TEST_CASE("exit table: what no built error ends in is not built", "[agent]") {
  std::set<int> later;
  for (const agent::ExitRow& row : agent::exit_table()) {
    if (!agent::is_built(row)) {
      later.insert(row.exit_code);
    }
  }
  CHECK_FALSE(later.contains(0));
  CHECK_FALSE(later.contains(143));
  for (const agent::CodeRow& row : agent::error_table()) {
    INFO(row.name);
    CHECK((row.since.empty() || !later.contains(row.exit_code)));
  }
}

TEST_CASE("outcome: a signal wins over an error, an error over success", "[agent]") {
  const agent::Error timeout{.code = agent::Code::run_timeout, .message = "", .help = ""};
  CHECK(agent::exit_code(agent::Ending{}) == 0);
  CHECK(agent::exit_code(agent::Ending{.error = timeout}) == 124);
  CHECK(agent::exit_code(agent::Ending{.error = timeout, .signal = 2}) == 130);
}

TEST_CASE("outcome: an error that is no ending by itself is never success", "[agent]") {
  for (const agent::CodeRow& row : agent::error_table()) {
    INFO(row.name);
    CHECK(agent::exit_code(agent::Error{.code = row.code, .message = "", .help = ""}) != 0);
  }
}

TEST_CASE("outcome: the status follows the exit code", "[agent]") {
  using agent::Status;
  struct Row {
    int code;
    Status status;
  };
  const auto row = GENERATE(
      values<Row>({{0, Status::ok},        {1, Status::failed},      {2, Status::error},
                   {65, Status::error},    {75, Status::error},      {80, Status::stopped},
                   {84, Status::stopped},  {85, Status::failed},     {86, Status::stopped},
                   {87, Status::stopped},  {90, Status::stopped},    {97, Status::stopped},
                   {98, Status::error},    {102, Status::error},     {110, Status::error},
                   {111, Status::failed},  {114, Status::failed},    {119, Status::error},
                   {124, Status::stopped}, {129, Status::cancelled}, {143, Status::cancelled}}));
  INFO(row.code);
  CHECK(agent::status_of(row.code) == row.status);
}

TEST_CASE("result: every field is there on every ending, and null where there is nothing",
          "[agent]") {
  const agent::Json json = agent::to_json(agent::RunResult{.exit_code = 0, .text = "hi"});
  for (const char* key :
       {"schema",     "status",   "exit_code",   "exit_name", "text",           "output",
        "partial",    "stop",     "error",       "usage",     "cost_usd",       "turns",
        "tool_calls", "denials",  "model",       "fallbacks", "over_budget",    "run_id",
        "resume_cmd", "trace_id", "duration_ms", "models",    "usage_estimated"}) {
    INFO(key);
    CHECK(json.contains(key));
  }
  CHECK(json["exit_name"] == "ok");
  CHECK(json["stop"].is_null());
}

TEST_CASE("result: what is written is read back", "[agent]") {
  agent::RunResult result{.exit_code = 80, .text = "so far", .partial = true};
  result.stop =
      agent::Stop{.reason = "max_turns", .limit = "limits.max_turns", .used = 3, .max = 3};
  result.error =
      agent::Error{.code = agent::Code::run_max_turns, .message = "no answer", .help = "x"};
  result.usage = {.input = 7, .output = 2, .cache_read = 1};
  result.turns = 3;
  result.cost = agent::Money::parse("0.000000000001");
  result.models = {{.model = "a/b", .turns = 2, .usage = result.usage, .cost = result.cost},
                   {.model = "c/d", .turns = 1, .cost = std::nullopt}};
  const agent::RunResult read = agent::result_from_json(agent::to_json(result));
  CHECK(agent::to_json(read) == agent::to_json(result));
  CHECK(read.cost == result.cost);
  CHECK(read.models == result.models);
}

TEST_CASE("error: the object says whether to try again, and when", "[agent]") {
  agent::Error error{
      .code = agent::Code::provider_rate_limited, .message = "slow down", .help = ""};
  error.retry_after = std::chrono::milliseconds(1500);
  agent::Json json = agent::to_json(error);
  CHECK(json["code"] == "provider.rate_limited");
  CHECK(json["retryable"] == true);
  CHECK(json["retry_after_s"] == 1.5);
  CHECK(json["http_status"].is_null());

  error.server_says_retry = false;
  CHECK(agent::to_json(error)["retryable"] == false);
}

TEST_CASE("error: what is written of any is read back", "[agent]") {
  for (const agent::CodeRow& row : agent::error_table()) {
    for (const auto server_says :
         {std::optional<bool>(), std::optional(true), std::optional(false)}) {
      INFO(row.name);
      const agent::Error error{
          .code = row.code,
          .message = "m",
          .help = "h",
          .where = agent::Where{.file = "a.yaml", .line = 3, .column = 7, .excerpt = {}},
          .cause = agent::Cause{.code = agent::Code::tool_failed, .message = "why"},
          .retry_after = std::chrono::milliseconds(1500),
          .http_status = 503,
          .provider = "p",
          .model = "p/m",
          .request_id = "r",
          .attempts = 2,
          .server_says_retry = server_says};
      CHECK(agent::to_json(agent::error_from_json(agent::to_json(error))) == agent::to_json(error));
    }
  }
}

TEST_CASE("outcome: what a bill lacks is added to it, by model", "[agent]") {
  using agent::ModelUse;
  const auto use = [](const char* model, std::int64_t tokens, const char* cost) {
    return ModelUse{
        .model = model, .turns = 1, .usage = {.input = tokens}, .cost = agent::Money::parse(cost)};
  };
  const std::vector<ModelUse> more =
      agent::uses_since({use("a", 10, "0.1")}, {use("a", 30, "0.3"), use("b", 5, "0.5")});
  CHECK(more.front().usage.input == 20);
  CHECK(more.front().turns == 0);
  const std::vector<ModelUse> others =
      agent::uses_since({use("b", 5, "0.5")}, {use("a", 1, "0.1")});
  CHECK(others.size() == 2);
  CHECK(others.back().usage.input == -5);  // another one is to bring it
  CHECK(agent::lost_uses({use("a", 30, "0.3"), use("b", 5, "0.5")},
                         {use("a", 40, "0.4"), use("b", 2, "0.2"), use("c", 1, "0.1")}) ==
        std::vector<ModelUse>{
            {.model = "b", .usage = {.input = 3}, .cost = agent::Money::parse("0.3")}});
  CHECK(agent::lost_uses({use("a", 30, "0.3")}, {}) == std::vector{use("a", 30, "0.3")});
  CHECK(agent::lost_uses({use("a", 30, "0.5")}, {use("a", 40, "0.4")}) ==
        std::vector<ModelUse>{{.model = "a", .cost = agent::Money::parse("0.1")}});
  CHECK(agent::lost_uses({use("a", 50, "0.3")}, {use("a", 40, "0.4")}) ==
        std::vector<ModelUse>{
            {.model = "a", .usage = {.input = 10}, .cost = agent::Money::parse("0")}});
  agent::RunResult result{.usage = {.input = 10}, .cost = agent::Money::parse("0.1")};
  result.models = {use("a", 10, "0.1")};
  agent::add_uses(result, more);
  CHECK(result.usage.input == 35);
  CHECK(result.cost == agent::Money::parse("0.8"));
  CHECK(result.models == std::vector<ModelUse>{use("a", 30, "0.3"), use("b", 5, "0.5")});
  agent::add_uses(result, {ModelUse{.model = "c", .cost = std::nullopt}});
  CHECK_FALSE(result.cost);
}
