// Starts programs so that nothing of them is left when their call is over, not even where errand
// is killed: a small process forked before any thread (the zygote) forks shims, and a shim owns
// whatever its program forks. One shim serves call after call, but one at a time, so that what a
// call leaves behind is known to be its own. What a call waits for is local_program_runner.h's.
#pragma once
#include "agent/descriptor.h"
#include "agent/result.h"
#include "tools/process/program_turns.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/protected_files.h"

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
  std::string profile;                   // sandbox::encode()'s; empty: none
  sandbox::LayerSet layers = {};         // of it, without which the program is not started
};

// How a program ended, once nothing of it is left.
struct Report {
  enum class Kind : std::uint8_t { exited, signalled, no_folder, no_exec, no_process, no_sandbox };
  Kind kind = Kind::no_process;
  int value = 0;                  // exit status, signal number, or errno of what could not be done
  int survivors = 0;              // processes that SIGKILL did not end in time
  bool is_out_of_memory = false;  // signalled: the call as a whole wanted more than it may have
  bool have_locks_held = false;   // what mounts lock was behind them at the end, too
};

class Supervisor;

// A process that starts programs, one at a time, as errand holds it.
struct Shim {
  agent::Descriptor control;
  std::string profile;            // taken on for good
  sandbox::LayerSet layers = {};  // in force
  agent::Descriptor egress_proxy =
      {};  // the listening socket of a private network, where there is one
};

// One running program, as errand sees it. Letting go of it kills the whole tree. Its supervisor
// has to outlive it.
class Running {
 public:
  Running(Supervisor& supervisor, Shim shim) : supervisor_(&supervisor), shim_(std::move(shim)) {}

  int descriptor() const { return shim_.control.get(); }  // readable when the report is there
  void terminate();  // SIGTERM to the whole tree; then all of it has to end, not the program alone
  void kill();       // SIGKILL to the whole tree
  // Where the program's private network is to be served; -1: it has none.
  int egress_proxy() const { return shim_.egress_proxy.get(); }
  // Does not wait: nullopt where nothing has come yet; os.failed where the shim is gone.
  agent::Result<std::optional<Report>> report();

 private:
  void order(char what);

  Supervisor* supervisor_;
  Shim shim_;
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
  // is over 4 MiB, no descriptors, a shim that lacks one of the layers. Thread-safe.
  agent::Result<Running> spawn(const Program& program, int in, int out, int err);

  // Has a shim take the profile on, so that what this kernel can enforce of it is known before
  // the first program. os.failed as for spawn; sandbox.setup.
  agent::Result<sandbox::LayerSet> try_profile(const std::string& profile);

  // Shims of this profile will not be used again.
  void retire(const std::string& profile);

  // Nothing more will be started: zygote and shims may end while the caller tidies up.
  void dismiss();

  pid_t zygote() const { return zygote_; }
  // For the sandboxes of all agents.
  sandbox::SharedProtection& protection() { return protection_; }
  ProgramTurns& turns() { return turns_; }

 private:
  friend class Running;
  Supervisor(agent::Descriptor socket, pid_t zygote)
      : socket_(std::move(socket)), zygote_(zygote) {}
  agent::Result<Shim> new_shim(const std::string& profile);
  std::optional<Shim> idle_shim(const std::string& profile);
  void give_back(Shim shim);

  agent::Descriptor socket_;
  pid_t zygote_;
  std::mutex mutex_;
  std::vector<Shim> idle_;  // those that wait for a request
  sandbox::SharedProtection protection_;
  ProgramTurns turns_;
};

}  // namespace tools
