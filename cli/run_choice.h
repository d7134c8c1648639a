// Which journal a command of runs looks at, and which run is meant.
#pragma once
#include "agent/result.h"
#include "cli/commands/commands.h"
#include "cli/recorded_run.h"

#include <filesystem>
#include <string>

namespace cli {

// --store FILE, else the user's own; cli.usage where neither says which.
agent::Result<std::filesystem::path> journal_of(const Parsed& parsed, const Context& context);

// The working folder, whose runs are meant; cli.usage where it is gone.
agent::Result<std::string> folder_of(const Context& context);

// The id of the run that RUN or --last names. storage.not_found where there is none, cli.usage
// where several could be meant, or none is named.
agent::Result<std::string> chosen_run(const Parsed& parsed,
                                      const Context& context,
                                      const std::filesystem::path& journal);

// What carries that run on: with `--store` where it was named, and `--agent` where the record alone
// does not do. The path is the recorded one only where the record is the user's own.
std::string resuming(const Parsed& parsed, RecordedRuns& recorded, const std::string& run_id);

}  // namespace cli
