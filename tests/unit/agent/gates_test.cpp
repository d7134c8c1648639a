#include "agent/gates.h"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using agent::Occasion;
using agent::Ruling;

class FakeGate final : public agent::Gate {
 public:
  explicit FakeGate(std::function<Ruling(const Occasion&)> rule) : rule_(std::move(rule)) {}

  Ruling judge(const Occasion& occasion, const agent::Emit&, std::stop_token) override {
    seen.emplace_back(occasion.text);
    if (occasion.call != nullptr) {
      arguments.push_back(occasion.call->arguments);
    }
    return rule_(occasion);
  }
  std::optional<agent::Error> killed() override { return error; }

  std::vector<std::string> seen;
  std::vector<std::string> arguments;
  std::optional<agent::Error> error;

 private:
  std::function<Ruling(const Occasion&)> rule_;
};

Ruling judge(std::vector<agent::Gate*> all, const Occasion& occasion) {
  agent::Gates gates(all);
  return gates.judge(occasion, [](const agent::EventBody&) {}, {});
}

Ruling text(std::string changed) {
  Ruling ruling;
  ruling.text = std::move(changed);
  return ruling;
}

}  // namespace

TEST_CASE("gates: each sees the text that the one before it left", "[agent]") {
  const agent::ToolCall call{"c", "shell", "{\"a\":1}"};
  FakeGate first([](const Occasion&) { return text("{\"a\":2}"); });
  FakeGate second([](const Occasion&) { return Ruling{}; });
  FakeGate third([](const Occasion&) { return text("{\"a\":3}"); });
  const Ruling ruling =
      judge({&first, &second, &third},
            {.point = agent::Point::pre_tool_use, .text = call.arguments, .call = &call});
  CHECK(first.seen == std::vector<std::string>{"{\"a\":1}"});
  CHECK(second.seen == std::vector<std::string>{"{\"a\":2}"});
  CHECK(second.arguments == second.seen);
  CHECK(third.arguments == second.seen);
  CHECK(ruling.text == "{\"a\":3}");
  CHECK(call.arguments == "{\"a\":1}");
}

TEST_CASE("gates: the first that refuses or ends is the last", "[agent]") {
  FakeGate adds([](const Occasion&) { return Ruling{.context = {"one"}}; });
  FakeGate never([](const Occasion&) { return Ruling{}; });
  FakeGate refuses([](const Occasion&) {
    return Ruling{.refusal = "no", .is_denial = true, .context = {"two"}};
  });
  FakeGate ends([](const Occasion&) {
    return Ruling{.ending = agent::Error{.code = agent::Code::guardrail_killed}};
  });
  const Ruling refused = judge({&adds, &refuses, &never}, {});
  CHECK(refused.refusal == "no");
  CHECK(refused.is_denial);
  CHECK(refused.context == std::vector<std::string>{"one", "two"});
  const Ruling ended = judge({&adds, &ends, &never}, {});
  CHECK(ended.ending->code == agent::Code::guardrail_killed);
  CHECK_FALSE(ended.refusal);
  CHECK(never.seen.empty());
}

TEST_CASE("gates: a yes of one and a question of another are both kept", "[agent]") {
  FakeGate allows([](const Occasion&) { return Ruling{.is_allowed = true}; });
  FakeGate asks([](const Occasion&) { return Ruling{.question = "sure?"}; });
  FakeGate asks_too([](const Occasion&) { return Ruling{.question = "really?"}; });
  const Ruling ruling = judge({&allows, &asks, &asks_too}, {});
  CHECK(ruling.is_allowed);
  CHECK(ruling.question == "sure?");
}

TEST_CASE("gates: none says nothing; any may kill", "[agent]") {
  CHECK_FALSE(judge({}, {.text = "x"}).text);
  FakeGate first([](const Occasion&) { return Ruling{}; });
  FakeGate second([](const Occasion&) { return Ruling{}; });
  std::vector<agent::Gate*> all{&first, &second};
  agent::Gates gates(all);
  CHECK_FALSE(gates.killed());
  second.error = agent::Error{.code = agent::Code::guardrail_killed, .message = "there"};
  REQUIRE(gates.killed());
  CHECK(gates.killed()->message == "there");
}
