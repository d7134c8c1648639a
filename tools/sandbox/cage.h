// A confinement in force: what programs inherit is set once on their guard, the rest is put on by
// each of them between fork and exec.
#pragma once
#include "agent/descriptor.h"
#include "tools/sandbox/confinement.h"
#include "tools/sandbox/layers.h"

namespace tools::sandbox {

class Cage {
 public:
  // Moves this process, which must be single-threaded, into the private mounts of its programs, and
  // puts their filter of system calls on it: the kernel compiles that anew each time, which costs
  // more than a fork. What the kernel lacks is missing in layers(), and no failure.
  explicit Cage(const Confinement& confinement);

  LayerSet layers() const { return layers_; }

  // In the program's process, async-signal-safe: the rest; drops capabilities for good. 0 or errno.
  int put_on() const;

 private:
  void count_limits();

  Confinement confinement_;
  agent::Descriptor rules_;  // empty: no Landlock
  LayerSet layers_;
};

}  // namespace tools::sandbox
