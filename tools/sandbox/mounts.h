// A private view of the file system: read-only but for what may be written, homes that are empty
// but for what is open there, read-only binds over locked places. Landlock closes the same homes
// where there are no mounts; but here what is closed is not there, which programs take better than
// a refusal, and modes, owners and times, of which Landlock knows nothing, stay as they are.
#pragma once
#include "tools/sandbox/profile.h"

#include <string>
#include <vector>

namespace tools::sandbox {

// Where programs share memory by name. In private mounts it is their own, small, and writable.
constexpr const char* k_shared_memory = "/dev/shm";
// The same of terminals.
constexpr const char* k_terminals = "/dev/pts";
constexpr const char* k_terminal_maker = "/dev/ptmx";

// In a mount namespace of this process's own (namespaces.h). False where the kernel refuses; what
// was done until then only hides more.
bool make_mounts_private(const Profile& profile);

// Whether something is mounted at each of them: who renames a place takes its mount along.
bool are_mounts(const std::vector<std::string>& places);

}  // namespace tools::sandbox
