// One program, run to its end: input, output, deadlines, cancellation. Who keeps its process tree
// together is the supervisor.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"
#include "tools/capture.h"
#include "tools/supervisor.h"
#include "tools/tool.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct ProcessRequest {
  std::vector<std::string> argv;  // argv[0] without a slash is looked up in PATH
  agent::Environment environment;
  std::filesystem::path cwd;
  std::optional<std::string> input;                 // absent: stdin is /dev/null
  std::optional<agent::Milliseconds> timeout;       // absent: none
  std::optional<agent::Milliseconds> idle_timeout;  // silence on stdout and stderr; absent: none
  bool merge_stderr = true;                         // into `output`, in the order it was written
  CaptureLimits limits;                             // of each stream
};

struct ProcessResult {
  // lost: its guard was killed, nobody knows how the program ended.
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
  std::string message;            // when not_started or lost: why, in one line
  Captured output;
  Captured errors;                      // stderr, unless it was merged
  int survivors = 0;                    // processes of the call that could not be ended
  std::vector<std::string> violations;  // locked places that it changed; they were put back
};

// Runs the program until nothing of it is left. After a deadline or context.stop the tree gets
// SIGTERM and a second later SIGKILL, after context.kill SIGKILL at once. Thread-safe.
ProcessResult run_process(Supervisor& supervisor,
                          const ProcessRequest& request,
                          const CallContext& context);

// What an end other than a clean exit means for the model: code, message and suggestion, no text.
Output failed_end(const ProcessResult& result, const ProcessRequest& request);

// Hands on what `captured` holds, with a last line in brackets for what was lost.
void put_text(Output& output, Captured captured);

// Puts `line` on a line of its own at the end of `text`.
void append_line(std::string& text, std::string_view line);

// The call's environment, and what keeps programs from asking questions or paging their output,
// where the user has not set it. What the tool's `own` variables say wins.
agent::Environment quiet_environment(agent::Environment environment,
                                     const std::filesystem::path& cwd);
agent::Environment tool_environment(const CallContext& context, const agent::Environment& own = {});

}  // namespace tools
