// Landlock: the rules on files, TCP ports, signals and abstract sockets that a process takes upon
// itself and can never lay down again.
#pragma once
#include "agent/descriptor.h"
#include "tools/sandbox/profile.h"

namespace tools::sandbox {

// What the running kernel offers; 0: nothing. Files from 1 on, moves between folders from 2,
// truncation from 3, TCP from 4, device controls from 5, signals and abstract sockets from 6.
int landlock_abi();

// The rules as a descriptor, for restrict_self. Names may be listed everywhere; contents where the
// profile has them open. With mounts, programs have terminals and shared memory of their own. Empty
// where the kernel refuses (errno says why).
agent::Descriptor landlock_rules(const Profile& profile, bool has_mounts);

// Puts the rules on this process and all its children. 0 or errno; async-signal-safe.
int restrict_self(int rules);

}  // namespace tools::sandbox
