// The whole program but for its process: a command line in, an exit code out.
#pragma once
#include "agent/environment.h"

#include <span>
#include <string>

namespace cli {

// Codes above 128 mean that the process is to end by signal CODE - 128. Never throws for input.
int run_program(std::span<const std::string> arguments, const agent::Environment& environment);

}  // namespace cli
