// Where interpreters look for what a command line names without its path: `python3 -m ci.guard`,
// `python3 ci/`, `node deploy`, `node -r pre`.
#pragma once
#include "agent/environment.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// By the name of a program's file.
bool is_python(std::string_view program);

// The files that count, there already or not, of the program `words[0]` with the rest as its
// arguments, started in the folder with that environment (PYTHONPATH, NODE_PATH, NODE_OPTIONS):
// absolute where the folder is. Also those that would come before the one that is there. Empty: the
// program looks for nothing by itself.
std::vector<std::filesystem::path> module_files(std::span<const std::string> words,
                                                const std::filesystem::path& folder,
                                                const agent::Environment& environment);

}  // namespace tools
