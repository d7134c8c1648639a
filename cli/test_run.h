// One run of a test case of an agent: a process of its own, so that a crash is one failed run.
#pragma once
#include "agent/money.h"
#include "agent/result.h"
#include "cli/commands/commands.h"
#include "cli/test_world.h"
#include "config/test_case.h"
#include "tools/process/program_runner.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cli {

// A file of the workspace, when the run was over.
struct FileSeen {
  std::optional<std::string> text;  // none: it is not there, or see `problem`
  std::string problem;              // why it cannot be read
};

// What a run left behind.
struct TestOutcome {
  enum class End : std::uint8_t { ended, timed_out, stopped, broken };
  End end = End::broken;
  std::string problem;  // broken: why there is no result
  int exit_code = 0;
  std::string prompt;                     // what it was asked
  std::string text;                       // the answer
  std::string error;                      // "replay.miss: no answer is recorded …", or empty
  std::vector<std::string> tools;         // that ran, in order
  std::string replies_left;               // of a script, in a sentence; empty: none
  std::optional<agent::Money> cost_usd;   // unknown: none
  std::map<std::string, FileSeen> files;  // that the case looks at
  std::string errors;                     // stderr
  std::int64_t duration_ms = 0;
};

// What the case may have copied for its tools: a folder that is behind no link, in which there is
// only what they could read where errand runs and where the case is; no folder of the system, and
// neither a home nor a parent of one. config.invalid, sandbox.setup.
agent::Result<void> check_workspace(const config::TestCase& test, const Context& context);

// Thread-safe. `number` tells the runs of one call apart.
TestOutcome run_test_case(const config::TestCase& test,
                          const std::string& number,
                          const TestWorld& world);

// The outcome as the run's events (jsonl) on its stdout tell it; broken where they do not end with
// a result, and where the process did not end as the result says.
TestOutcome outcome_of(const tools::ProgramResult& process);

}  // namespace cli
