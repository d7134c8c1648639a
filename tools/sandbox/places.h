// Where secrets are kept on a machine, and what a workspace keeps from its own tools.
#pragma once
#include "agent/environment.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tools::sandbox {

// Whether the path is the folder or anything in it, by their names alone.
bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder);

// The user's, by HOME and by the password file; what does not exist is left out. Absolute.
std::vector<std::filesystem::path> home_folders(const agent::Environment& environment);

// Those that exist, free of links, sorted; none inside another.
std::vector<std::filesystem::path> secret_places(std::span<const std::filesystem::path> homes);

// The table behind it, for people: "~/.ssh", "/etc/shadow".
std::vector<std::string> secret_place_names();

// What of a writable folder is for reading only: what somebody or something else runs or obeys
// later. Those that do not exist stand here, too, but for what belongs to a repository that is
// none.
std::vector<std::filesystem::path> locked_places(const std::filesystem::path& folder);

}  // namespace tools::sandbox
