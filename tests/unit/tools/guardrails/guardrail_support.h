// What the tests of guardrails share: checks as specs, and an interceptor over real processes and a
// scripted judge.
#pragma once
#include "tests/support/fakes.h"
#include "tests/unit/tools/process/process_support.h"
#include "tools/guardrails/guardrails.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tests {

using Of = agent::GuardrailSpec::Of;
using Look = agent::GuardrailSpec::Kind;
using Action = agent::GuardrailSpec::Action;

inline agent::GuardrailSpec check(
    Of of, Look kind, std::string what, Action action = Action::deny, std::string tool = {}) {
  return {.of = of,
          .kind = kind,
          .name = "it",
          .what = std::move(what),
          .tool = std::move(tool),
          .action = action,
          .timeout = std::chrono::seconds(20),
          .model = {}};
}

inline agent::Reply says(std::string text) {
  return {.text = std::move(text),
          .stop_reason = agent::StopReason::end_turn,
          .usage = {.input = 10, .output = 5},
          .origin = "test/judge",
          .cost = agent::Money::parse("0.01")};
}

inline ScriptedProvider::Answer answers(agent::Reply reply) {
  return [reply = std::move(reply)](const agent::ModelRequest&, const agent::Emit&) {
    return agent::Result<agent::Reply>(reply);
  };
}

class GuardrailStage {
 public:
  std::unique_ptr<tools::Guardrails> interceptor(std::vector<agent::GuardrailSpec> checks,
                                                 int retries = 2) {
    std::vector<tools::Judge> judges;
    for (const agent::GuardrailSpec& one : checks) {
      if (one.kind == Look::judge) {
        judges.push_back({.model = "test/judge", .provider = &judge});
      }
    }
    return std::make_unique<tools::Guardrails>(
        agent::GuardrailsSpec{.retries = retries, .checks = std::move(checks)},
        kill_file,
        tools::GuardrailWorld{.programs_of =
                                  [this](const agent::CommandSandbox&) {
                                    return tools::UserPrograms{
                                        .folder = world.folder.path(),
                                        .directory = world.folder.path(),
                                        .temporary = world.temporary,
                                        .environment = world.environment,
                                        .program_runner = world.program_runner.get()};
                                  },
                              .redactor = &redactor,
                              .clock = &clock,
                              .judges = std::move(judges),
                              .file = "agent.yaml"});
  }

  agent::HookDecision ask(tools::Guardrails& interceptor, const agent::HookContext& hook_context) {
    return interceptor.judge(
        hook_context,
        [this](const agent::EventBody& body) {
          events.push_back(std::get<agent::GuardrailRan>(body));
        },
        world.stop.get_token());
  }
  agent::HookDecision ask(std::vector<agent::GuardrailSpec> checks,
                          const agent::HookContext& hook_context) {
    return ask(*interceptor(std::move(checks)), hook_context);
  }

  ProcessWorld world;  // the first, because it forks
  agent::Redactor redactor{{{"MY_TOKEN", "hunter2-hunter2"}}};
  agent::SystemClock clock;
  std::filesystem::path kill_file;
  ScriptedProvider judge{{}};
  std::vector<agent::GuardrailRan> events;
};

}  // namespace tests
