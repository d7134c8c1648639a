// The agents among which a conversation goes from one to another: who they are, what the next one
// is told, and how often it may be.
#pragma once
#include "agent/event.h"
#include "agent/json.h"
#include "agent/message.h"
#include "agent/outcome.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "agent/toolbox.h"
#include "cli/outside_input.h"
#include "cli/plan.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

// Of the run's first agent and its team, of which `from` is one; null: none of them stands there.
const Plan* agent_handed_to(const Plan& first,
                            const agent::AgentSpec& from,
                            const agent::HandoffSpec& handoff);

// Why the conversation, which `had` have had, the first agent first, may not go to the next one;
// nullopt: it may.
std::optional<agent::Ending> at_handoff_limit(std::span<const agent::AgentSpec* const> had,
                                              const agent::AgentSpec& next);

// What a call takes: the parameters of the agent, and a message to it. team.invalid where they have
// one name.
agent::Result<void> check_can_take_over(const agent::AgentSpec& agent);
agent::ToolInfo handoff_as_tool(const agent::HandoffSpec& handoff, const agent::AgentSpec& to);

// What the next one is told of the call.
OutsideInput input_of_handoff(const agent::Json& arguments,
                              const agent::AgentSpec& from,
                              const agent::AgentSpec& to);

// The conversation in words alone, as the next one reads it: it has other tools.
std::vector<agent::OpeningMessage> opening_of(const agent::Conversation& conversation);

}  // namespace cli
