// One test case of an agent: run as a process of its own, so that a crash is one failed case, and
// held against what was expected of it.
#pragma once
#include "agent/environment.h"
#include "agent/money.h"
#include "agent/result.h"
#include "cli/commands/commands.h"
#include "config/test_case.h"
#include "tools/process/program_runner.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

// What a run left behind.
struct TestOutcome {
  enum class End : std::uint8_t { ended, timed_out, stopped, broken };
  End end = End::broken;
  std::string problem;  // broken: why there is no result
  int exit_code = 0;
  std::string text;                      // the answer
  std::string error;                     // "replay.miss: no answer is recorded …", or empty
  std::vector<std::string> tools;        // that ran, in order
  std::string replies_left;              // of a script, in a sentence; empty: none
  std::optional<agent::Money> cost_usd;  // unknown: none
  std::string errors;                    // stderr
  std::int64_t duration_ms = 0;
};

// One thing that does not hold.
struct TestFailure {
  std::string expectation;  // "exit code", "text"
  std::string expected;
  std::string actual;
};

// What all cases of one call share. Borrowed.
struct TestWorld {
  tools::ProgramRunner& program_runner;
  const agent::Environment& environment;
  std::filesystem::path temporary;  // a folder of its own
  std::stop_token stop;             // end soon
  std::stop_token kill;             // end now
};

// What the case may have copied for its tools: a folder that is behind no link, in which there is
// only what they could read where errand runs and where the case is; no folder of the system, and
// neither a home nor a parent of one. config.invalid, sandbox.setup.
agent::Result<void> check_workspace(const config::TestCase& test, const Context& context);

// Thread-safe. `number` tells the cases of one call apart.
TestOutcome run_test_case(const config::TestCase& test, std::size_t number, const TestWorld& world);

// Empty where everything holds. An ending other than the expected one is all that is said of a run.
std::vector<TestFailure> judge(const config::TestCase& test, const TestOutcome& outcome);

// The outcome as the run's events (jsonl) on its stdout tell it; broken where they do not end with
// a result, and where the process did not end as the result says.
TestOutcome outcome_of(const tools::ProgramResult& process);

}  // namespace cli
