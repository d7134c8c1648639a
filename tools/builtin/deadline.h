// A time limit for a tool that has none of its own.
#pragma once
#include "agent/spec.h"
#include "tools/tool.h"

#include <memory>

namespace tools {

// The same tool; a call that is stopped because it took longer than `timeout` is tool.timeout.
std::unique_ptr<Tool> with_deadline(std::unique_ptr<Tool> tool, agent::Milliseconds timeout);

}  // namespace tools
