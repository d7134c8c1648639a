// Starts programs so that nothing of them is left when their call is over, not even where errand
// is killed: a small process forked before any thread (the zygote) forks a guard a call, and the
// guard owns whatever the program forks. What a call waits for is process.h's.
#pragma once
#include "agent/result.h"
#include "tools/descriptor.h"

#include <cstdint>
#include <memory>
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
};

// How a program ended, once nothing of it is left.
struct Report {
  enum class Kind : std::uint8_t { exited, signalled, no_folder, no_exec, no_process };
  Kind kind = Kind::no_process;
  int value = 0;      // exit status, signal number, or errno of what could not be done
  int survivors = 0;  // processes that SIGKILL did not end in time
};

// One running program, as errand sees it. Letting go of it kills the whole tree.
class Running {
 public:
  explicit Running(Descriptor control) : control_(std::move(control)) {}

  int descriptor() const { return control_.get(); }  // readable when the report is there
  void terminate();  // SIGTERM to the whole tree; then all of it has to end, not the program alone
  void kill();       // SIGKILL to the whole tree
  // Does not wait: nullopt where nothing has come yet; os.failed where the guard is gone.
  agent::Result<std::optional<Report>> report();

 private:
  Descriptor control_;
};

class Supervisor {
 public:
  // To be called before the process has threads. os.failed where it cannot fork.
  static agent::Result<std::unique_ptr<Supervisor>> start();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();  // a program that still runs goes on until its Running is let go

  // Starts the program with these three as its stdin, stdout and stderr (borrowed). A program
  // that cannot be started is a Report, not an error; os.failed: the zygote is gone, the request
  // is over 4 MiB, no descriptors. Thread-safe.
  agent::Result<Running> spawn(const Program& program, int in, int out, int err);

  pid_t zygote() const { return zygote_; }

 private:
  Supervisor(Descriptor socket, pid_t zygote) : socket_(std::move(socket)), zygote_(zygote) {}

  Descriptor socket_;
  pid_t zygote_;
};

}  // namespace tools
