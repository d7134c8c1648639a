// `hooks` into what the run goes by.
#pragma once
#include "agent/spec.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <span>

namespace config {

struct ToolWorld;

// `tools` are the agent's.
agent::HooksSpec build_hooks(const Value& map,
                             std::span<const agent::ToolSpec> tools,
                             const ToolWorld& world,
                             Problems& problems);

}  // namespace config
