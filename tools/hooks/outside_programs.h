// Which programs may run outside of the sandbox, where what they read is told by strangers.
#pragma once
#include "tools/hooks/script_files.h"

#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct FedPrograms {
  // Why a program of the line, or what a `#!` makes of it, may run what it reads; empty: none may.
  std::string why;
  // The first program without a path of which nobody knows whether it does, as people are told it:
  // one that is neither in known_outside(), nor an interpreter, nor runs the rest of its words.
  std::string unknown;
};

FedPrograms fed_programs(std::string_view command, const CommandPlace& place);

// A file that the line writes and that another program of it is told, which may run it, as one
// program of it says it: `cat >x; sh x`. Empty: none.
std::string written_and_run(std::string_view command, const CommandPlace& place);

// Those that do not run what they read, nor others than the user's own. Sorted.
std::vector<std::string_view> known_outside();

}  // namespace tools
