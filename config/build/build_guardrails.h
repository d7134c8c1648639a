// `guardrails` of agent files: each check with exactly one thing to look for.
#pragma once
#include "agent/spec.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

namespace config {

struct ToolWorld;

agent::GuardrailsSpec build_guardrails(const Value& map,
                                       const ToolWorld& world,
                                       Problems& problems);

}  // namespace config
