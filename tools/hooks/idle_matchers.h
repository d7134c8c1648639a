// Hooks and guardrails that are about no tool: a typing error, and what they look after goes by
// unseen.
#pragma once
#include "agent/event.h"
#include "agent/spec.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace tools {

// Those that name tools, and fit none of `names`: all that calls of the agent can have, but for
// those that begin as one of `unknown`.
std::vector<agent::Warning> idle_matchers(const agent::HooksSpec& hooks,
                                          const agent::GuardrailsSpec& guardrails,
                                          const std::set<std::string>& names,
                                          std::span<const std::string> unknown = {});

}  // namespace tools
