// Helps who reads why a program failed: what of that the sandbox has refused, and which key opens
// it. Said only of places in lines that say themselves that they were refused, where errand's user
// could have done it.
#pragma once
#include "agent/environment.h"
#include "tools/sandbox/policy.h"

#include <filesystem>
#include <string>

namespace tools {

// Where the program began, and its home. Borrowed.
struct ProgramPlace {
  const std::filesystem::path& folder;
  const agent::Environment& own;
};

// Appends a line in brackets for each, at most three, to the text that is looked at. For programs
// that failed. A relative path counts from where the program began, and only where it leads to what
// is there or could be made: it may have gone elsewhere.
void append_closed_places(std::string& text,
                          const sandbox::Policy& policy,
                          const ProgramPlace& place);

}  // namespace tools
