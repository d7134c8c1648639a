#include "providers/resilience/fallback_provider.h"

#include "tests/support/fakes.h"

#include <catch2/catch.hpp>

#include <thread>

namespace {

using agent::Code;
using agent::Error;
using agent::FallbackReason;
using agent::Milliseconds;
using providers::FailureMemory;
using providers::FallbackProvider;
using namespace std::chrono_literals;
using Answer = tests::ScriptedProvider::Answer;
using Names = std::vector<std::string>;

Answer member_saying(std::string text) {
  return [text = std::move(text)](const auto&, const agent::Emit& emit) {
    emit(agent::ModelDelta{.text = text});
    return agent::Reply{.text = text};
  };
}

Answer member_failing(Error error, std::string streamed = {}) {
  return [error = std::move(error), streamed](const auto&, const agent::Emit& emit) {
    if (!streamed.empty()) {
      emit(agent::ModelDelta{.text = streamed});
    }
    return agent::fail(error);
  };
}

Error failure_of_member(Code code, int attempts = 1) {
  return {.code = code, .message = "it failed", .attempts = attempts};
}

// A chain a, b, c, as long as there are scripts.
struct Chain {
  explicit Chain(std::vector<std::deque<Answer>> scripts,
                 FallbackProvider::Policy policy = {.cooldown = 60s,
                                                    .on = agent::standard_fallback_reasons()}) {
    std::vector<FallbackProvider::Member> members;
    for (auto& script : scripts) {
      const std::string name(1, static_cast<char>('a' + members.size()));
      members.push_back({.name = name,
                         .provider = std::make_unique<tests::ScriptedProvider>(std::move(script)),
                         .memory = memories[members.size()]});
    }
    provider.emplace(std::move(members), std::move(policy), clock);
  }

  agent::Result<agent::Reply> ask() {
    types.clear();
    return provider->complete({.conversation = conversation},
                              [this](const agent::EventBody& event) {
                                types.emplace_back(agent::type_name(event));
                                if (const auto* one = std::get_if<agent::ModelFallback>(&event)) {
                                  fallbacks.push_back(*one);
                                }
                              },
                              {});
  }
  std::string answer() {
    const auto reply = ask();
    return reply ? reply->text : std::string(agent::row(reply.error().code).name);
  }

  tests::FakeClock clock;
  agent::Conversation conversation;
  std::array<FailureMemory, 3> memories;
  std::optional<FallbackProvider> provider;
  Names types;
  std::vector<agent::ModelFallback> fallbacks;
};

}  // namespace

TEST_CASE("fallback: where the first model answers, nobody else is asked", "[providers]") {
  Chain chain({{member_saying("from a")}, {}});
  CHECK(chain.answer() == "from a");
  CHECK(chain.types == Names{"model.delta"});
}

TEST_CASE("fallback: a final failure is the next model's turn", "[providers]") {
  Chain chain({{member_failing(failure_of_member(Code::provider_unavailable, 4))},
               {member_saying("from b")}});
  CHECK(chain.answer() == "from b");
  CHECK(chain.types == Names{"model.fallback", "model.delta"});
  REQUIRE(chain.fallbacks.size() == 1);
  const auto& event = chain.fallbacks[0];
  CHECK(event.from == "a");
  CHECK(event.to == "b");
  CHECK_FALSE(event.skipped);
  CHECK(event.cooldown == Milliseconds(60s));
  CHECK(event.error.code == Code::provider_unavailable);
  CHECK(event.error.attempts == 4);
}

TEST_CASE("fallback: what was streamed is void before another model speaks", "[providers]") {
  Chain chain({{member_failing(failure_of_member(Code::provider_stream_broken), "half an ")},
               {member_saying("from b")}});
  CHECK(chain.answer() == "from b");
  CHECK(chain.types == Names{"model.delta", "model.reset", "model.fallback", "model.delta"});
}

TEST_CASE("fallback: where all fail, it is the last error with the first as its cause",
          "[providers]") {
  Chain chain({{member_failing(failure_of_member(Code::provider_unavailable, 4))},
               {member_failing(failure_of_member(Code::provider_network, 2))},
               {member_failing(failure_of_member(Code::provider_timeout, 3), "half")}});
  const auto reply = chain.ask();
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::provider_timeout);
  CHECK(reply.error().attempts == 9);
  REQUIRE(reply.error().cause);
  CHECK(reply.error().cause->code == Code::provider_unavailable);
  CHECK(reply.error().cause->message == "a: it failed");
  CHECK(chain.types == Names{"model.fallback", "model.fallback", "model.delta"});
}

TEST_CASE("fallback: each code leads on where its reason is asked for, and only there",
          "[providers]") {
  for (const agent::CodeRow& row : agent::error_table()) {
    INFO(row.name);
    const auto reason = agent::fallback_reason(row.code);
    const bool by_itself = reason && agent::row(*reason).is_standard;
    Chain standard({{member_failing(failure_of_member(row.code))}, {member_saying("from b")}});
    CHECK(standard.answer() == (by_itself ? "from b" : row.name));
    for (const agent::FallbackRow& word : agent::fallback_table()) {
      Chain chain({{member_failing(failure_of_member(row.code))}, {member_saying("from b")}},
                  {.cooldown = 60s, .on = {word.reason}});
      CHECK(chain.answer() == (reason == word.reason ? "from b" : row.name));
    }
  }
}

TEST_CASE("fallback: its reasons are these", "[agent]") {
  CHECK(agent::fallback_reason(Code::provider_circuit_open) == FallbackReason::unavailable);
  CHECK(agent::fallback_reason(Code::provider_busy) == FallbackReason::rate_limited);
  for (const Code code : {Code::provider_invalid_request,
                          Code::provider_refused,
                          Code::provider_tls,
                          Code::run_cancelled,
                          Code::replay_miss,
                          Code::internal}) {
    CHECK_FALSE(agent::fallback_reason(code));
  }
  CHECK_FALSE(agent::row(FallbackReason::auth).is_standard);
  CHECK_FALSE(agent::row(FallbackReason::context_overflow).is_standard);
  for (const agent::FallbackRow& row : agent::fallback_table()) {
    CHECK(agent::row(row.reason).word == row.word);
    CHECK(agent::fallback_reason_from(row.word) == row.reason);
  }
  CHECK_FALSE(agent::fallback_reason_from("refused"));
}

TEST_CASE("fallback: an error that is none of its reasons ends it, whoever made it",
          "[providers]") {
  Chain chain({{member_failing(failure_of_member(Code::provider_unavailable))},
               {member_failing(failure_of_member(Code::provider_invalid_request))},
               {member_saying("never")}});
  const auto reply = chain.ask();
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::provider_invalid_request);
  CHECK(reply.error().attempts == 2);
  REQUIRE(reply.error().cause);
  CHECK(reply.error().cause->code == Code::provider_unavailable);
}

TEST_CASE("fallback: a model that failed is asked last until its cooldown is over", "[providers]") {
  Chain chain({{member_failing(failure_of_member(Code::provider_unavailable)),
                member_saying("from a"),
                member_saying("from a")},
               {member_saying("one"), member_saying("two")}});
  CHECK(chain.answer() == "one");
  chain.clock.sleep_for(59'999ms, {});
  CHECK(chain.answer() == "two");
  CHECK(chain.types == Names{"model.fallback", "model.delta"});
  REQUIRE(chain.fallbacks.size() == 2);
  CHECK(chain.fallbacks[1].skipped);
  CHECK(chain.fallbacks[1].from == "a");
  CHECK(chain.fallbacks[1].to == "b");
  CHECK(chain.fallbacks[1].cooldown == 1ms);
  CHECK(chain.fallbacks[1].error.code == Code::provider_unavailable);
  chain.clock.sleep_for(1ms, {});
  CHECK(chain.answer() == "from a");
  CHECK(chain.answer() == "from a");
  CHECK(chain.types == Names{"model.delta"});
}

TEST_CASE("fallback: without a cooldown the first model is always asked first", "[providers]") {
  Chain chain({{member_failing(failure_of_member(Code::provider_unavailable)),
                member_failing(failure_of_member(Code::provider_unavailable))},
               {member_saying("one"), member_saying("two")}},
              {.cooldown = 0s, .on = agent::standard_fallback_reasons()});
  CHECK(chain.answer() == "one");
  CHECK(chain.answer() == "two");
  CHECK(chain.fallbacks.size() == 2);
  CHECK_FALSE(chain.fallbacks[1].skipped);
}

TEST_CASE("fallback: one that cools down is still asked before the run fails", "[providers]") {
  Chain chain(
      {{member_failing(failure_of_member(Code::provider_unavailable)), member_saying("a is back")},
       {member_saying("one"), member_failing(failure_of_member(Code::provider_quota))}});
  CHECK(chain.answer() == "one");
  CHECK(chain.answer() == "a is back");
  REQUIRE(chain.fallbacks.size() == 3);
  CHECK(chain.fallbacks[1].skipped);
  CHECK(chain.fallbacks[2].from == "b");
  CHECK(chain.fallbacks[2].to == "a");
  CHECK(chain.fallbacks[2].error.code == Code::provider_quota);
}

TEST_CASE("fallback: a failure of the provider keeps other runs away, one of the request does not",
          "[providers]") {
  struct Row {
    Code code;
    bool is_shared;
  };
  const auto row = GENERATE(values<Row>({{Code::provider_quota, true},
                                         {Code::provider_auth, true},
                                         {Code::context_overflow, false},
                                         {Code::provider_unsupported, false}}));
  INFO(agent::row(row.code).name);
  std::vector<FallbackReason> all;
  for (const agent::FallbackRow& one : agent::fallback_table()) {
    all.push_back(one.reason);
  }
  Chain chain(
      {{member_failing(failure_of_member(row.code))}, {member_saying("one"), member_saying("two")}},
      {.cooldown = 60s, .on = all});
  CHECK(chain.answer() == "one");
  CHECK(chain.answer() == "two");  // this run stays away in any case
  CHECK(chain.fallbacks.back().skipped);
  CHECK(chain.memories[0].last().has_value() == row.is_shared);
}

TEST_CASE("fallback: another run's failure counts only where this run asks for its reason",
          "[providers]") {
  const bool counts = GENERATE(true, false);
  Chain chain(
      {{member_saying("from a")}, {member_saying("from b")}},
      {.cooldown = 60s, .on = {counts ? FallbackReason::auth : FallbackReason::unavailable}});
  chain.memories[0].failed(chain.clock.now(), failure_of_member(Code::provider_auth));
  CHECK(chain.answer() == (counts ? "from b" : "from a"));
}

TEST_CASE("failure memory: threads may write and read it at once", "[providers][threads]") {
  FailureMemory memory;
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < 4; ++n) {
      threads.emplace_back([&, n] {
        for (int time = 0; time < 200; ++time) {
          if (n % 2 == 0) {
            memory.failed({}, failure_of_member(Code::provider_quota));
          } else {
            memory.succeeded();
          }
          const auto last = memory.last();
          if (last && last->error.code != Code::provider_quota) {
            std::abort();
          }
        }
      });
    }
  }
  memory.succeeded();
  CHECK_FALSE(memory.last());
}
