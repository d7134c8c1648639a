// Where programs run: the port that keeps them apart from the user's machine. Tools, hooks and
// guardrails know only this; the one implementation today is processes of the machine itself
// (local_program_runner.h).
#pragma once
#include "agent/environment.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "agent/toolbox.h"
#include "tools/process/capture.h"
#include "tools/process/program_turns.h"
#include "tools/sandbox/protected_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct ProgramRequest {
  std::vector<std::string> argv;  // argv[0] without a slash is looked up in PATH
  agent::Environment environment;
  std::filesystem::path cwd;
  std::filesystem::path temporary;                  // takes output that is too long for memory
  std::optional<std::string> input;                 // absent: stdin is /dev/null
  std::optional<agent::Milliseconds> timeout;       // absent: none
  std::optional<agent::Milliseconds> idle_timeout;  // silence on stdout and stderr; absent: none
  bool merge_stderr = true;                         // into `output`, in the order it was written
  CaptureLimits limits;                             // of each stream
  bool is_the_users = false;  // a command of theirs, and no program of a tool: see begin_turn()
};

// How a running program is stopped and heard.
struct ProgramControl {
  std::stop_token stop;                                  // SIGTERM, a second later SIGKILL
  std::stop_token kill = {};                             // SIGKILL
  std::function<void(std::string_view)> on_output = {};  // as it comes; may be empty
};

struct ProgramResult {
  // lost: who watched over it was killed, nobody knows how the program ended.
  enum class End : std::uint8_t {
    exited,
    signalled,
    timed_out,
    idle,
    cancelled,
    not_started,
    lost
  };
  End end = End::not_started;
  int exit_status = 0;            // when exited
  int signal = 0;                 // when signalled
  bool is_out_of_memory = false;  // when signalled: for more memory than the sandbox allows
  int error_number = 0;           // when not_started; 0: see `message`
  bool is_shortage = false;       // when not_started: the machine lacks something
  std::string message;            // when not_started or lost: why, in one line
  Captured output;
  Captured errors;                                // stderr, unless it was merged
  int survivors = 0;                              // processes of the call that could not be ended
  bool have_locks_held = false;                   // Report's
  std::vector<sandbox::ProtectedChange> changes;  // of what git and errand obey
  bool was_alone = true;                          // ProtectedEnd's
  std::optional<agent::Error> unseen;             // os.failed: nobody could look for them
  std::vector<std::string> refused;               // "HOST:PORT" that it may not reach and tried to

  bool has_violations() const {
    return std::ranges::any_of(changes, [](const sandbox::ProtectedChange& change) {
      return change.outcome != sandbox::ProtectedChange::Outcome::noticed;
    });
  }
  bool has_exited_cleanly() const {
    return end == End::exited && survivors == 0 && !has_violations() && !unseen;
  }
};

// A program that is talked to while it runs, a line at a time.
class TalkingProgram {
 public:
  static constexpr std::size_t k_most_line = 64u << 20;  // a longer one ends it

  struct Ended {
    std::string how;                    // in words that follow a name
    sandbox::ProtectedEnd looked = {};  // at what git and errand obey
  };
  // Called on a thread of the program's own.
  struct Listener {
    std::function<void(std::string_view line)> on_line;  // of its stdout, without the line end
    std::function<void(std::string_view line)> on_rest;  // the last, without one; may be null
    std::function<void(Ended ended)> on_end;             // once, when nothing of it is left
  };

  // Ends it: its stdin is closed; where that is not enough, SIGTERM and then SIGKILL. Waits.
  virtual ~TalkingProgram() = default;
  // One line for its stdin, without the line end; does not wait until it is read. Thread-safe.
  virtual void write(std::string line) = 0;
  // As the end of this object does, without waiting.
  virtual void close() = 0;
  virtual std::string last_words() const = 0;  // the last lines of its stderr
  // What it has written of a line that has no end yet: the beginning of it. Thread-safe.
  virtual std::string unfinished_line() const { return {}; }
};

class ProgramRunner {
 public:
  virtual ~ProgramRunner() = default;
  // What programs have to be told of the place that they run in.
  virtual agent::Environment environment() const { return {}; }
  // Runs the program until nothing of it is left. Thread-safe.
  virtual ProgramResult run(const ProgramRequest& request, const ProgramControl& control) = 0;
  // Starts a program that is talked to, by argv, environment and folder of the request. It may
  // end at once: that is heard. Errors: os.failed, sandbox.setup. Thread-safe.
  virtual agent::Result<std::unique_ptr<TalkingProgram>> talk(
      const ProgramRequest& /*request*/, TalkingProgram::Listener&& /*listener*/) {
    return agent::fail(agent::Code::os_failed, "programs cannot be talked to here");
  }
  // Before a command of the user's is looked at and run: as long as the turn lasts, no program of a
  // tool is at work here that only a look afterwards keeps from changing its files.
  virtual ProgramTurns::Turn begin_turn(const std::stop_token& /*stop*/) { return {}; }
  // Before something else than a program writes where programs may: what is there now is what was
  // there before the run's tools. Thread-safe; only the first call does anything. os.failed: that
  // could not be looked at.
  virtual agent::Result<void> before_writing() { return {}; }
  // When no more programs come, for now: what they have left that a person has to know of.
  virtual std::vector<agent::Leftover> tidy_up() { return {}; }
};

}  // namespace tools
