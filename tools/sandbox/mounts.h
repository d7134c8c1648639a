// A private view of the file system: read-only but for what may be written, with empty covers over
// secret places and read-only binds over locked ones. Landlock only allows, and knows files alone;
// what is excepted inside an allowed folder, and modes, owners and times, are looked after here.
#pragma once
#include "tools/sandbox/profile.h"

namespace tools::sandbox {

// Where programs share memory by name. In private mounts it is their own, small, and writable.
constexpr const char* k_shared_memory = "/dev/shm";

// In a mount namespace of this process's own (namespaces.h). False where the kernel refuses; what
// was done until then only hides more.
bool make_mounts_private(const Profile& profile);

}  // namespace tools::sandbox
