// Where things are on a machine: homes, what in them is no secret, what is one anywhere, and what a
// workspace keeps from its own tools.
#pragma once
#include "agent/environment.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools::sandbox {

// Whether the path is the folder or anything in it, by their names alone.
bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder);

// Without those that are inside another.
std::vector<std::filesystem::path> outermost(std::vector<std::filesystem::path> folders);

// Folders of people. Absolute and free of links; they exist, and none is a folder of the system.
struct Homes {
  std::vector<std::filesystem::path> own;     // the user's: what HOME says, then the password file
  std::vector<std::filesystem::path> closed;  // everybody's; none inside another
};
Homes find_homes(const agent::Environment& environment);

// What of a home programs may read: toolchains, their caches, git's own settings. Most do not
// exist.
std::vector<std::string> open_places(const std::filesystem::path& home);
std::vector<std::string> open_place_names();  // for people: "~/.cargo/bin"

// Whether it is a folder that every machine has, or what came with the machine: nothing that an
// agent should be given to write. Of a path without links in it.
bool is_of_system(const std::filesystem::path& path);

// What stays closed inside whatever is open. A `*` at the end stands for any rest of the name.
std::vector<std::string> secret_places(std::span<const std::filesystem::path> homes);
// Where links at these places lead, and links on the way there, as places of their own: without
// links, and none a folder of the system as a whole.
std::vector<std::string> led_to(std::span<const std::string> places);
std::vector<std::string> secret_place_names();  // for people: "~/.ssh", "/etc/shadow"

// Of /dev: those that are no way to anything, no disk, no memory, no terminal but the program's
// own. They may be read and written; all else there is closed.
std::span<const std::string_view> harmless_devices();

// What of a writable folder is for reading only: what git and errand run or obey later. It need not
// exist.
std::vector<std::filesystem::path> locked_places(const std::filesystem::path& folder);

}  // namespace tools::sandbox
