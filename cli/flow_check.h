// What the steps of a flow and its agents want of each other: mistakes that no file shows alone.
#pragma once
#include "agent/error.h"
#include "agent/result.h"
#include "agent/spec.h"

#include <string>
#include <vector>

namespace cli {

// `agents`: of each step, in their order; null: it is a command, or could not be read.
// team.invalid.
std::vector<agent::Error> mistakes_in_steps(const agent::AgentSpec& flow,
                                            const std::vector<const agent::AgentSpec*>& agents);

// Whether the value that a step gives is one of that parameter of its agent. team.invalid.
agent::Result<void> check_given(const agent::ParameterSpec& parameter, const std::string& value);

}  // namespace cli
