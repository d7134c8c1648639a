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
// cli.cannot_create where the name of that store in the agent file leads elsewhere, by a link.
agent::Result<void> check_store(const agent::AgentSpec& agent);
std::filesystem::path store_of(const agent::AgentSpec& agent,
                               const agent::Environment& environment);

// An id, the beginning of one, or a name; empty: the last run of this folder.
agent::Result<RecordedRun> find_run(const std::filesystem::path& store,
                                    const std::string& run,
                                    const Context& context);

// The run of this folder that is called so; nullopt: there is none. cli.usage for a name that is
// no text.
agent::Result<std::optional<RecordedRun>> find_session(const std::filesystem::path& store,
                                                       const std::string& name,
                                                       const Context& context);

// By the record: takes its options into `parsed`, and changes to the folder of the run. Of a run
// that is not the user's own nothing counts but what was said, and an agent has to be named.
// config.invalid where the folder is gone, cli.usage, and the errors of check_resumable().
agent::Result<RunSource> carried_on(RecordedRun run,
                                    std::vector<std::string> prompt,
                                    Parsed& parsed,
                                    Context& context);

// By what the command line says, as a new run: the record is what was said and done alone.
// cli.usage also where calls wait for approval and a message would leave them out.
agent::Result<RunSource> carried_on_anew(RecordedRun run,
                                         AgentChoice agent,
                                         bool has_message,
                                         const agent::Environment& environment);

}  // namespace cli
