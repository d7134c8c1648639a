// Helps who reads why a program failed: which of the places that its output names the sandbox
// closes, and what opens them.
#pragma once
#include "agent/environment.h"
#include "tools/sandbox/policy.h"

#include <string>

namespace tools {

// Appends a line in brackets for each, at most three, to the text that is looked at.
void append_closed_places(std::string& text,
                          const sandbox::Policy& policy,
                          const agent::Environment& environment);

}  // namespace tools
