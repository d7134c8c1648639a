// Starts programs so that nothing of them is left when their call is over, not even where errand
// is killed: a small process forked before any thread (the zygote) forks guards, and a guard owns
// whatever its program forks. One guard serves call after call, but one at a time, so that what a
// call leaves behind is known to be its own. What a call waits for is process.h's.
#pragma once
#include "agent/descriptor.h"
#include "agent/result.h"
#include "tools/sandbox/layers.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace tools {

// What to run. argv[0] without a slash is looked up in the PATH of `environment`.
struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
  std::string cwd;                       // absolute
  std::string confinement;               // sandbox::encode()'s; empty: none
  sandbox::LayerSet layers = {};         // of it, without which the program is not started
};

// How a program ended, once nothing of it is left.
struct Report {
  enum class Kind : std::uint8_t { exited, signalled, no_folder, no_exec, no_process, no_sandbox };
  Kind kind = Kind::no_process;
  int value = 0;                  // exit status, signal number, or errno of what could not be done
  int survivors = 0;              // processes that SIGKILL did not end in time
  bool is_out_of_memory = false;  // signalled: the call as a whole wanted more than it may have
};

class Supervisor;

// A process that starts programs, one at a time, as errand holds it.
struct Guard {
  agent::Descriptor control;
  std::string confinement;        // taken on for good
  sandbox::LayerSet layers = {};  // in force
  agent::Descriptor outlet = {};  // the listening socket of a private network, where there is one
};

// One running program, as errand sees it. Letting go of it kills the whole tree. Its supervisor
// has to outlive it.
class Running {
 public:
  Running(Supervisor& supervisor, Guard guard)
      : supervisor_(&supervisor), guard_(std::move(guard)) {}

  int descriptor() const { return guard_.control.get(); }  // readable when the report is there
  void terminate();  // SIGTERM to the whole tree; then all of it has to end, not the program alone
  void kill();       // SIGKILL to the whole tree
  // Where the program's private network is to be served; -1: it has none.
  int outlet() const { return guard_.outlet.get(); }
  // Does not wait: nullopt where nothing has come yet; os.failed where the guard is gone.
  agent::Result<std::optional<Report>> report();

 private:
  void order(char what);

  Supervisor* supervisor_;
  Guard guard_;
  bool has_ordered_ = false;
};

class Supervisor {
 public:
  // To be called before the process has threads. os.failed where it cannot fork.
  static agent::Result<std::unique_ptr<Supervisor>> start();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // Starts the program with these three as its stdin, stdout and stderr (borrowed). A program
  // that cannot be started is a Report, not an error; os.failed: the zygote is gone, the request
  // is over 4 MiB, no descriptors, a guard that lacks one of the layers. Thread-safe.
  agent::Result<Running> spawn(const Program& program, int in, int out, int err);

  // Has a guard take the confinement on, so that what this kernel can enforce of it is known before
  // the first program. os.failed as for spawn.
  agent::Result<sandbox::LayerSet> try_confinement(const std::string& confinement);

  // Nothing more will be started: zygote and guards may end while the caller tidies up.
  void dismiss();

  pid_t zygote() const { return zygote_; }

 private:
  friend class Running;
  Supervisor(agent::Descriptor socket, pid_t zygote)
      : socket_(std::move(socket)), zygote_(zygote) {}
  agent::Result<Guard> new_guard(const std::string& confinement);
  std::optional<Guard> idle_guard(const std::string& confinement);
  void give_back(Guard guard);

  agent::Descriptor socket_;
  pid_t zygote_;
  std::mutex mutex_;
  std::vector<Guard> idle_;  // those that wait for a request
};

}  // namespace tools
