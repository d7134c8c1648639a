// What all cases of one `errand test` share, and how one of them runs errand.
#pragma once
#include "agent/environment.h"
#include "tools/process/program_runner.h"

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

// Borrowed.
struct TestWorld {
  tools::ProgramRunner& program_runner;
  const agent::Environment& environment;
  std::filesystem::path temporary;  // a folder of its own
  bool is_live = false;             // the model itself is asked
  std::vector<std::string> key_hosts = {};
  std::stop_token stop = {};  // end soon
  std::stop_token kill = {};  // end now
};

// `errand run`, by this program, with what all its runs have.
std::vector<std::string> run_command(const TestWorld& world, const char* output);

// The case alone says what is run: no ERRAND_MODEL of the caller, no ERRAND_LOG_FILE. What a run
// leaves behind that is killed goes with the folder of all.
agent::Environment run_environment(const TestWorld& world);

// As a shell tells it: errand dies by the signal that ended its run.
int exit_code_of(const tools::ProgramResult& process);
// "it ended with exit status 70"
std::string ending_of(const tools::ProgramResult& process);

}  // namespace cli
