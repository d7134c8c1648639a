// A profile in force: what programs inherit is set once on their shim, the rest is put on by
// each of them between fork and exec.
#pragma once
#include "agent/descriptor.h"
#include "tools/sandbox/control_group.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/profile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tools::sandbox {

class Enforcer {
 public:
  // Moves this process, which must be single-threaded, into the namespaces of its programs, and
  // puts their filter of system calls on it: the kernel compiles that anew each time, which costs
  // as much as to start a program. What the kernel lacks is missing in layers(), and no failure.
  explicit Enforcer(const Profile& profile);

  LayerSet layers() const { return layers_; }
  // The listening socket of a private network; -1 where there is none.
  int egress_proxy() const { return egress_proxy_.get(); }

  // In the program's process, async-signal-safe: the rest; drops capabilities for good. 0 or errno.
  int put_on() const;

  // In the shim: what was locked by mounts is still behind them. False without mounts.
  bool have_locks_held() const;
  // In the shim: ends what its programs have started, as far as one word can.
  void kill_all() const;
  // How often programs wanted more memory than the whole call may have.
  std::uint64_t shortages() const { return group_ ? group_->shortages() : 0; }

 private:
  void count_limits();

  Profile profile_;
  std::optional<ControlGroup> group_;
  agent::Descriptor rules_;  // empty: no Landlock
  agent::Descriptor egress_proxy_;
  LayerSet layers_;
  std::vector<std::string> mounted_;  // locked places
};

}  // namespace tools::sandbox
