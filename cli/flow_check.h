// What the steps of a flow and its agents want of each other: mistakes that no file shows alone.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"

#include <vector>

namespace cli {

// `agents`: of each step, in their order; null: it is a command, or could not be read.
// team.invalid.
std::vector<agent::Error> mistakes_in_steps(const agent::AgentSpec& flow,
                                            const std::vector<const agent::AgentSpec*>& agents);

}  // namespace cli
