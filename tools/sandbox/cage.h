// A confinement in force: made once by a guard, put on by each of its programs between fork and
// exec.
#pragma once
#include "agent/descriptor.h"
#include "tools/sandbox/confinement.h"
#include "tools/sandbox/layers.h"

#include <linux/filter.h>
#include <vector>

namespace tools::sandbox {

class Cage {
 public:
  // Moves this process, which must be single-threaded, into the private mounts of its programs.
  // What the kernel lacks is missing in layers(), and no failure.
  explicit Cage(const Confinement& confinement);

  LayerSet layers() const { return layers_; }

  // In the program's process, async-signal-safe: all but the filter, which may only come when
  // nothing but exec is left to do; drops no_new_privs and capabilities for good. 0 or errno.
  int put_on() const;
  int close_filter() const;

 private:
  void count_limits();

  Confinement confinement_;
  agent::Descriptor rules_;  // empty: no Landlock
  std::vector<sock_filter> filter_;
  LayerSet layers_;
};

}  // namespace tools::sandbox
