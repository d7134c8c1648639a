// From a request to what the supervisor starts, and from its report to words.
#pragma once
#include "tools/process/program_runner.h"
#include "tools/process/supervisor.h"

#include <string>

namespace tools {

class Sandbox;

// `sandbox`: null: none; else `profile` is of its begin().
Program program_of(const ProgramRequest& request,
                   const Sandbox* sandbox,
                   const std::string& profile);

// Why it could not be started, of a report that says so. `sandbox` as of program_of().
std::string why_not_started(const Report& report,
                            const ProgramRequest& request,
                            const Sandbox* sandbox);

}  // namespace tools
