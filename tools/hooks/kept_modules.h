// What Python keeps of a module from an earlier run, compiled: it believes whoever wrote that.
#pragma once
#include "tools/hooks/script_files.h"
#include "tools/process/program_runner.h"

namespace tools {

// Where the line that `scripts` were read from, which the request is to run, names a module that is
// there, Python is told to look for nothing kept: by the environment, and by an option, which holds
// with `-I` and without an environment, too.
void keep_no_modules(const Scripts& scripts, ProgramRequest& request);
// The line is what the request says.
void keep_no_modules(ProgramRequest& request);

}  // namespace tools
