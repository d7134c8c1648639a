// Whether a run was begun by this user's errand. A journal can be imported, or come with a cloned
// folder: what such a one says of agents, options and folders is a stranger's word.
#pragma once
#include "agent/environment.h"
#include "agent/event.h"

#include <filesystem>
#include <optional>
#include <string>

namespace cli {

// The user's key, made where there is none; nullopt where that cannot be, or tools that work in
// `cwd` (without links) could read it.
std::optional<std::string> seal_key(const agent::Environment& environment,
                                    const std::filesystem::path& cwd);

// HMAC-SHA-256 of what decides what a run may do when it is carried on.
std::string seal_of(const std::string& key,
                    const std::string& run_id,
                    const agent::RunStarted& started);

}  // namespace cli
