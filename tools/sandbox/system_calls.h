// The system calls that a confined program is refused, as a program for the kernel's filter.
#pragma once
#include "tools/sandbox/profile.h"

#include <linux/filter.h>
#include <vector>

namespace tools::sandbox {

// Empty where the library cannot make it. `landlock`: the kernel's version of it; what that leaves
// open (truncation before 3, signals before 6) is closed here. Programs for other architectures
// than errand's own are killed at their first call.
std::vector<sock_filter> system_call_filter(const Profile& profile, int landlock);

// Puts the filter on this process and all its children, and no_new_privs with it. 0 or errno; an
// empty one is refused.
int install(const std::vector<sock_filter>& filter);

}  // namespace tools::sandbox
