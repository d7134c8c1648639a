// The programs that a plain command line outside of the sandbox leads to.
#pragma once
#include "tools/hooks/script_files.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Those that its words name, by a path or by a folder of `place.search_path`, and what the kernel
// starts in their place: the interpreter behind `#!`, that of one again, and what an `env` there
// looks up. Absolute, links not followed, in the order in which they are found; of a link and
// behind `#!` also what is not there yet.
std::vector<std::filesystem::path> named_programs(std::string_view command,
                                                  const CommandPlace& place);

// What the `#!` of each of these makes of it, as a command line: with a script beside it.
struct LineMade {
  std::filesystem::path script;
  std::string line;
};
std::vector<LineMade> lines_made(std::string_view command, const CommandPlace& place);

// Where a word that names a program may be found; it need not be there.
std::vector<std::filesystem::path> files_for(std::string_view word, const CommandPlace& place);

}  // namespace tools
