// A control group (cgroup v2) for the programs of one shim: their memory and their number are
// counted together, and one word ends them all. It is made only where the machine's owner has let
// it: no controller is handed down for it, nothing of the machine is set.
#pragma once
#include "agent/descriptor.h"
#include "tools/sandbox/profile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace tools::sandbox {

// The folders of this process's own group and, where it can be seen, of the one around it: a group
// with processes in it, other than the first of all, has no controllers for its children. From the
// texts of /proc/self/mountinfo and /proc/self/cgroup; empty where there is no cgroup v2.
std::vector<std::string> group_places(std::string_view mounts, std::string_view groups);

class ControlGroup {
 public:
  // With the profile's memory and processes as its limits. nullopt: it asks for neither, or
  // there is no place where all of it can be had. To be called before this process enters private
  // mounts: in those nothing of this can be written any more.
  static std::optional<ControlGroup> create(const Profile& profile);
  ControlGroup(ControlGroup&&) noexcept = default;
  ControlGroup& operator=(ControlGroup&&) = delete;
  // Removes the group; its processes have to be gone.
  ~ControlGroup();

  // Moves this process in. Async-signal-safe. 0 or errno.
  int enter() const;
  // SIGKILL for all in it at once, however fast they fork.
  void kill() const;
  // How often its processes needed more memory than there was for them.
  std::uint64_t shortages() const;

 private:
  explicit ControlGroup(const std::string& place);
  bool is_usable() const;
  bool limit_memory(std::uint64_t bytes) const;
  bool limit_processes(std::uint64_t most) const;

  std::string name_;
  agent::Descriptor place_;      // the folder that it is made in
  agent::Descriptor folder_;     // empty: it could not be made
  agent::Descriptor processes_;  // for writing: who is in it
  agent::Descriptor end_;        // for writing; empty before Linux 5.14
  agent::Descriptor events_;     // what its memory has gone through; empty without a limit on that
};

// Removes the group that a shim which was killed has left, if there is one. Its processes have to
// be gone.
void remove_group_of(pid_t shim);

}  // namespace tools::sandbox
