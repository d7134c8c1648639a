// From a command line to one named ending, for a run that begins and for one that is carried on.
#pragma once
#include "agent/environment.h"
#include "agent/result.h"
#include "cli/commands/commands.h"
#include "cli/plan.h"

#include <functional>

namespace cli {

// Which agent, and which run: asked when the folder is the one that --cwd says. May add to the
// command line what is recorded, and change to the folder of the run.
using FindSource = std::function<agent::Result<RunSource>(Parsed& parsed, Context& context)>;

// Returns the exit code; what goes wrong after the outputs are open is told there.
agent::Result<int> start_run(const Parsed& given, Context& context, const FindSource& find);

// Where --cwd says. cli.usage.
agent::Result<void> change_folder(const Parsed& parsed, Context& context);
// What of the plan no output may show.
void hide_secrets(const Plan& plan,
                  const agent::Environment& environment,
                  agent::Redactor& redactor);

}  // namespace cli
