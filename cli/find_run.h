// Which recorded run a command line means, and all that follows from carrying it on.
#pragma once
#include "agent/result.h"
#include "cli/commands/commands.h"
#include "cli/plan.h"
#include "cli/recorded_run.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cli {

// The journal that the agent names, else the user's own; empty: it keeps none, or there is none.
std::filesystem::path store_of(const agent::AgentSpec& agent,
                               const agent::Environment& environment);

// An id, the beginning of one, or a name; empty: the last run of this folder.
agent::Result<RecordedRun> find_run(const std::filesystem::path& store,
                                    const std::string& run,
                                    const Context& context);

// The run of this folder that is called so; nullopt: there is none.
agent::Result<std::optional<RecordedRun>> find_session(const std::filesystem::path& store,
                                                       const std::string& name,
                                                       const Context& context);

// Takes the recorded options into `parsed`, and changes to the folder of the run. config.invalid
// where that is gone, and the errors of check_resumable().
agent::Result<RunSource> carried_on(RecordedRun run,
                                    std::vector<std::string> prompt,
                                    Parsed& parsed,
                                    Context& context);

}  // namespace cli
