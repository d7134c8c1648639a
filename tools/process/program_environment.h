// The variables that programs are started with.
#pragma once
#include "agent/environment.h"
#include "tools/tool.h"

#include <filesystem>

namespace tools {

// With what keeps programs from asking questions or paging their output, where the user has not set
// it.
agent::Environment quiet_environment(agent::Environment environment,
                                     const std::filesystem::path& cwd);

// A call's: what is harmless of it, quiet, with what its place of running adds. What the tool's
// `own` variables say wins.
agent::Environment tool_environment(const CallContext& context, const agent::Environment& own = {});

}  // namespace tools
