#include "cli/test_world.h"

#include "cli/options.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <system_error>

namespace cli {
namespace {

namespace fs = std::filesystem;

// This program, whatever it is called now.
std::string own_program() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return !error && fs::exists(program, error) ? program.string() : "/proc/self/exe";
}

}  // namespace

std::vector<std::string> run_command(const TestWorld& world, const char* output) {
  std::vector<std::string> words{own_program(), "run", "-q", "-o", output, "--no-session"};
  for (const std::string& host : world.key_hosts) {
    words.push_back("--key-host=" + host);
  }
  return words;
}

agent::Environment run_environment(const TestWorld& world) {
  agent::Environment environment = world.environment;
  environment["TMPDIR"] = world.temporary.string();
  for (const Option& option : find_command("run")->options) {
    environment.erase(std::string(option.environment));
  }
  return environment;
}

int exit_code_of(const tools::ProgramResult& process) {
  return process.end == tools::ProgramResult::End::signalled ? 128 + process.signal
                                                             : process.exit_status;
}

std::string ending_of(const tools::ProgramResult& process) {
  return process.end == tools::ProgramResult::End::signalled
             ? fmt::format(
                   "it was killed by signal {} ({})", process.signal, ::strsignal(process.signal))
             : fmt::format("it ended with exit status {}", process.exit_status);
}

}  // namespace cli
