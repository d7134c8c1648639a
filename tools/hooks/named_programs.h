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
// behind
// `#!` also what is not there yet.
std::vector<std::filesystem::path> named_programs(std::string_view command,
                                                  const CommandPlace& place);

// Why a shell or another interpreter that the line names, wherever in it, may run something else
// than a script that the line names: what it reads is told by strangers. Empty: none may.
std::string why_fed(std::string_view command, const CommandPlace& place);

}  // namespace tools
