// Where interpreters look for what a command line names without its path: `python3 -m ci.guard`,
// `python3 ci/`, `node deploy`.
#pragma once
#include "agent/environment.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tools {

// The files that count, there already or not, of the program `words[0]` with the rest as its
// arguments, started in the folder: absolute where that is. Also those that would come before the
// one that is there. Empty: the program looks for nothing by itself.
std::vector<std::filesystem::path> module_files(std::span<const std::string> words,
                                                const std::filesystem::path& folder);

// What Python keeps of a module from an earlier run, compiled, it believes whoever wrote that:
// where one of these is there, it is told to look for none.
void keep_no_modules(const std::vector<std::filesystem::path>& modules,
                     agent::Environment& environment);

}  // namespace tools
