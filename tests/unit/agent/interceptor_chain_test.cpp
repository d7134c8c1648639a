#include "agent/interceptor_chain.h"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::HookContext;
using agent::HookDecision;

class FakeInterceptor final : public agent::Interceptor {
 public:
  explicit FakeInterceptor(std::function<HookDecision(const HookContext&)> rule)
      : rule_(std::move(rule)) {}

  HookDecision judge(const HookContext& hook_context,
                     const agent::Emit&,
                     std::stop_token) override {
    seen.emplace_back(hook_context.text);
    if (hook_context.call != nullptr) {
      arguments.push_back(hook_context.call->arguments);
    }
    return rule_(hook_context);
  }
  std::optional<agent::Error> killed() override { return error; }

  std::vector<std::string> seen;
  std::vector<std::string> arguments;
  std::optional<agent::Error> error;

 private:
  std::function<HookDecision(const HookContext&)> rule_;
};

HookDecision judge(std::vector<agent::Interceptor*> all, const HookContext& hook_context) {
  agent::InterceptorChain interceptors(all);
  return interceptors.judge(hook_context, [](const agent::EventBody&) {}, {});
}

HookDecision text(std::string changed) {
  HookDecision decision;
  decision.text = std::move(changed);
  return decision;
}

}  // namespace

TEST_CASE("interceptors: each sees the text that the one before it left", "[agent]") {
  const agent::ToolCall call{"c", "shell", "{\"a\":1}"};
  FakeInterceptor first([](const HookContext&) { return text("{\"a\":2}"); });
  FakeInterceptor second([](const HookContext&) { return HookDecision{}; });
  FakeInterceptor third([](const HookContext&) { return text("{\"a\":3}"); });
  const HookDecision decision =
      judge({&first, &second, &third},
            {.point = agent::HookPoint::pre_tool_use, .text = call.arguments, .call = &call});
  CHECK(first.seen == std::vector<std::string>{"{\"a\":1}"});
  CHECK(second.seen == std::vector<std::string>{"{\"a\":2}"});
  CHECK(second.arguments == second.seen);
  CHECK(third.arguments == second.seen);
  CHECK(decision.text == "{\"a\":3}");
  CHECK(call.arguments == "{\"a\":1}");
}

TEST_CASE("interceptors: the first that refuses or ends is the last", "[agent]") {
  FakeInterceptor adds([](const HookContext&) { return HookDecision{.context = {"one"}}; });
  FakeInterceptor never([](const HookContext&) { return HookDecision{}; });
  FakeInterceptor refuses([](const HookContext&) {
    return HookDecision{.refusal = "no", .is_denial = true, .context = {"two"}};
  });
  FakeInterceptor ends([](const HookContext&) {
    return HookDecision{.ending = agent::Error{.code = agent::Code::guardrail_killed}};
  });
  const HookDecision refused = judge({&adds, &refuses, &never}, {});
  CHECK(refused.refusal == "no");
  CHECK(refused.is_denial);
  CHECK(refused.context == std::vector<std::string>{"one", "two"});
  const HookDecision ended = judge({&adds, &ends, &never}, {});
  CHECK(ended.ending->code == agent::Code::guardrail_killed);
  CHECK_FALSE(ended.refusal);
  CHECK(never.seen.empty());
}

TEST_CASE("interceptors: a yes of one and a question of another are both kept", "[agent]") {
  FakeInterceptor allows([](const HookContext&) { return HookDecision{.is_allowed = true}; });
  FakeInterceptor asks([](const HookContext&) { return HookDecision{.question = "sure?"}; });
  FakeInterceptor asks_too([](const HookContext&) { return HookDecision{.question = "really?"}; });
  const HookDecision decision = judge({&allows, &asks, &asks_too}, {});
  CHECK(decision.is_allowed);
  CHECK(decision.question == "sure?");
}

TEST_CASE("interceptors: none says nothing; any may kill", "[agent]") {
  CHECK_FALSE(judge({}, {.text = "x"}).text);
  FakeInterceptor first([](const HookContext&) { return HookDecision{}; });
  FakeInterceptor second([](const HookContext&) { return HookDecision{}; });
  std::vector<agent::Interceptor*> all{&first, &second};
  agent::InterceptorChain interceptors(all);
  CHECK_FALSE(interceptors.killed());
  second.error = agent::Error{.code = agent::Code::guardrail_killed, .message = "there"};
  REQUIRE(interceptors.killed());
  CHECK(interceptors.killed()->message == "there");
}
