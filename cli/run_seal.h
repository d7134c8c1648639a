// Whether a run was begun by this user's errand. A journal can be imported, or come with a cloned
// folder: what such a one says of agents, options and folders is a stranger's word.
#pragma once
#include "agent/environment.h"
#include "agent/event.h"
#include "agent/result.h"

#include <filesystem>
#include <string>

namespace cli {

// The user's key, made where there is none. Without one, no run is known to be the user's:
// cli.usage where there is no place for it, or tools that work in `cwd` (without links) could read
// it; storage.io where it is broken or cannot be made.
agent::Result<std::string> seal_key(const agent::Environment& environment,
                                    const std::filesystem::path& cwd);

// HMAC-SHA-256 of what decides what a run may do when it is carried on.
std::string seal_of(const std::string& key,
                    const std::string& run_id,
                    const agent::RunStarted& started);

}  // namespace cli
