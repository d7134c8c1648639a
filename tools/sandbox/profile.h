// What a program may do, as a plain value: worked out in errand (policy.h), sent to a shim, put
// into force there (enforcer.h). Neither YAML nor tools are known here.
#pragma once
#include "tools/sandbox/reading.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace tools::sandbox {

// All paths are absolute and free of links; what does not exist when a shim is made is left out.
struct Profile {
  std::vector<std::string> writable;  // folders with all that is in them, and single files
  std::vector<std::string> locked;    // inside `writable`: readable only
  std::vector<std::string> held;      // where there are mounts, what leads to it stays in its place
  std::vector<std::string> hidden;    // covered where there are mounts: nothing is in them
  ReadingRules reading;
  std::vector<std::string> homes;  // closed by `reading`, and empty but for what it opens there
  bool network = false;            // internet sockets are allowed
  bool egress_proxy = false;       // too, but in a network of its own (egress_proxy.h)
  // Of the whole call in a control group, else of each process, and of the user.
  std::optional<std::uint64_t> memory;     // bytes; of address space without a group
  std::optional<std::uint64_t> processes;  // at the same time
  std::optional<std::uint64_t> cpu_time;   // seconds, each process
  std::vector<pid_t> untouchable;          // where the kernel keeps signals in by no other means
  std::uint64_t generation = 0;            // of what it names: another one, other files

  bool has_sockets() const { return network || egress_proxy; }
  bool operator==(const Profile&) const = default;
};

// As it travels, and back; nullopt where the text is none.
std::string encode(const Profile& profile);
std::optional<Profile> decode(std::string_view text);

}  // namespace tools::sandbox
