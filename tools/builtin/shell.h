// The `shell` tool: one command line for /bin/sh in the call's working folder. A non-zero exit is
// a result that the model reads, not a failure of the tool.
#pragma once
#include "agent/spec.h"
#include "tools/tool.h"

#include <memory>

namespace tools {

// Uses the spec's timeout (the default of a call, and the most that the model may ask for),
// idle_timeout and repeatable.
std::unique_ptr<Tool> make_shell(const agent::ToolSpec& spec);

}  // namespace tools
