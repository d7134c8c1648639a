// What an agent's command tools, hooks and guardrails would start and cannot, as far as it is seen
// before anything runs. A run may still make it: these are warnings.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tools {

struct MissingProgram {
  std::string message;
  std::string help;
};

// Borrowed.
struct ProgramPlaces {
  const std::filesystem::path& cwd;
  const agent::Environment& environment;
  // Whether programs in the sandbox can read what is at a path without links.
  const std::function<bool(const std::filesystem::path&)>& is_open;
};

// In the order of the file, each once. Of a command line the first command is looked at, of a tool
// its command: the program, the one behind `env` and variables, and the script that a shell or an
// interpreter is given as its first word. What only a running shell knows is left out, and so is
// what gets a PATH of its own there.
std::vector<MissingProgram> missing_programs(const agent::AgentSpec& agent,
                                             const ProgramPlaces& places);

}  // namespace tools
