// Helps who reads why a program failed: what of that the sandbox has refused, and which key opens
// it. Said only of places in lines that say themselves that they were refused, where errand's user
// could have done it.
#pragma once
#include "agent/environment.h"
#include "tools/sandbox/policy.h"

#include <string>

namespace tools {

// Appends a line in brackets for each, at most three, to the text that is looked at. For programs
// that failed.
void append_closed_places(std::string& text,
                          const sandbox::Policy& policy,
                          const agent::Environment& environment);

}  // namespace tools
