// Where toolchains keep what they would rather not compute or download twice.
#pragma once
#include "agent/environment.h"
#include "tools/sandbox/policy.h"

#include <filesystem>

namespace tools {

// For programs: each the folder that the user has it at where that may be written, else one in
// `temporary`, where it lasts as long as the run.
agent::Environment cache_variables(const agent::Environment& environment,
                                   const sandbox::Policy& policy,
                                   const std::filesystem::path& temporary);

}  // namespace tools
