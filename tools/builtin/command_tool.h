// A program of the agent's author as a tool: the spec's argv, never a shell; the arguments as one
// JSON object on stdin; stdout is the result.
#pragma once
#include "agent/spec.h"
#include "tools/tool.h"

#include <memory>

namespace tools {

// `spec.command` must not be empty. A relative program with a slash starts at the call's cwd.
std::unique_ptr<Tool> make_command_tool(const agent::ToolSpec& spec);

}  // namespace tools
