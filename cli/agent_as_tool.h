// An agent as a tool of somebody else's: what it takes, and what a call tells it.
#pragma once
#include "agent/json.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "agent/toolbox.h"
#include "cli/outside_input.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>

namespace cli {

bool has_parameter(const agent::AgentSpec& agent, std::string_view name);

std::string description_as_tool(const agent::AgentSpec& agent);

// Its parameters, behind `properties`; those in `given` are set, and nobody's to say. The second:
// behind its prompt.
agent::Json schema_of_parameters(const agent::AgentSpec& agent,
                                 const std::map<std::string, std::string>& given,
                                 agent::Json properties);
agent::Json input_schema_of(const agent::AgentSpec& agent,
                            const std::map<std::string, std::string>& given);

agent::ToolInfo sub_agent_as_tool(const std::string& name, const agent::AgentSpec& agent);

// cli.usage where nobody could tell it what to do: it has no prompt, and `prompt` is a
// parameter.
agent::Result<void> check_can_be_told(const agent::AgentSpec& agent);

// Of arguments that fit the schema.
OutsideInput input_of(const agent::Json& arguments, const agent::AgentSpec& agent);

}  // namespace cli
