// What a model is told beforehand of what its calls can reach in this run, so that it does not try
// in vain.
#pragma once
#include "agent/spec.h"

#include <string>

namespace tools {

// Sentences for behind the description of a tool that runs command lines or fetches pages; empty
// for any other. Made of the agent file alone: the same bytes in every run and at every request.
std::string reach_of(const agent::ToolSpec& tool, const agent::SandboxSpec& sandbox);

}  // namespace tools
