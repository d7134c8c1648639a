#include "cli/handoffs.h"

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

namespace {

using agent::OpeningMessage;

agent::AgentSpec agent_called(const std::string& name) {
  agent::AgentSpec agent;
  agent.name = name;
  agent.file = name + ".yaml";
  return agent;
}

}  // namespace

TEST_CASE("handoffs: what was said, in words, and who said it", "[cli]") {
  agent::Reply calling;
  calling.text = "I look.";
  calling.tool_calls = {{.id = "1", .name = "ls", .arguments = R"({"path":"."})"}};
  agent::Conversation said;
  said.messages = {
      agent::UserMessage{.text = "What is here?"},
      agent::AssistantMessage{.reply = std::move(calling)},
      agent::ToolMessage{.call_id = "1", .name = "ls", .content = "a.txt"},
      agent::ToolMessage{.call_id = "2", .name = "rm", .content = "no", .is_error = true},
      agent::UserMessage{.text = "And?"},
      agent::UserMessage{.text = "Well?"}};
  CHECK(cli::opening_of(said) ==
        std::vector<OpeningMessage>{
            {.role = "user", .text = "What is here?"},
            {.role = "assistant",
             .text = "I look.\n\n[called ls with {\"path\":\".\"}]\n\n[ls brought: a.txt]\n\n"
                     "[rm failed: no]"},
            {.role = "user", .text = "And?\n\nWell?"}});
}

TEST_CASE("handoffs: once around, or so often as the first agent says", "[cli]") {
  using Had = std::vector<const agent::AgentSpec*>;
  agent::AgentSpec first = agent_called("first");
  const agent::AgentSpec second = agent_called("second");
  CHECK_FALSE(cli::at_handoff_limit(Had{&first}, second));
  CHECK(cli::at_handoff_limit(Had{&first, &second}, first));

  first.limits.max_handoffs = 2;
  CHECK_FALSE(cli::at_handoff_limit(Had{&first, &second}, first));
  const auto ending = cli::at_handoff_limit(Had{&first, &second, &first}, second);
  REQUIRE(ending);
  CHECK(agent::exit_code(*ending) == 87);
  CHECK(ending->stop->used == 2);
  CHECK(ending->stop->max == 2);
}
