// What is said of a call that may not run: to the model, and to the person who can change that.
#pragma once
#include "agent/toolbox.h"
#include "tools/tool.h"

#include <span>
#include <string>
#include <string_view>

namespace tools {

// Shown on a terminal and taken from there to a command line, the rule is the same.
bool can_be_typed(std::string_view rule);

Output denied(std::string reason);  // tool.policy_blocked
// tool.confirmation_required, with the exact words that would allow the first of these calls.
agent::Error nobody_there(std::span<const agent::ApprovalRequest> requests);

}  // namespace tools
