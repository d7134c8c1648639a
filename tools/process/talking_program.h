// A program that is talked to while it runs, a line at a time: a server on its stdin and stdout.
#pragma once
#include "agent/dialer.h"
#include "tools/process/program_runner.h"
#include "tools/process/supervisor.h"

#include <memory>

namespace tools {

class Sandbox;

// As ProgramRunner::talk(), on this machine. `sandbox` and `dialer`: null: no sandbox.
agent::Result<std::unique_ptr<TalkingProgram>> start_talking(const ProgramRequest& request,
                                                             TalkingProgram::Listener listener,
                                                             Supervisor& supervisor,
                                                             Sandbox* sandbox,
                                                             agent::Dialer* dialer);

}  // namespace tools
