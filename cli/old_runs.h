// What `session.keep` removes when a run has ended.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"

#include <filesystem>
#include <optional>
#include <string>

namespace cli {

// In the user's own journal the runs of this agent in this folder alone: an agent file is often
// somebody else's. `ended`, if any, is the run that has just ended, and stays. Nothing where the
// agent file does not ask for it. Returns what is to be warned of: why it could not be done, or
// that calls in them waited for approval.
std::optional<agent::Error> remove_old_runs(const agent::AgentSpec& agent,
                                            const std::filesystem::path& journal,
                                            const std::filesystem::path& folder,
                                            const agent::Environment& environment,
                                            const std::string& ended = {});

}  // namespace cli
