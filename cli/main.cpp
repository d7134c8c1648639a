#include "agent/outcome.h"
#include "cli/program.h"
#include "cli/signals.h"

#include <csignal>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

agent::Environment environment_of_process() {
  agent::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (const auto equals = text.find('='); equals != std::string::npos && equals > 0) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

// A file that is opened takes the lowest free number: where one of these is closed, a log file
// would be standard output. What takes its place fails as a closed one does, with EBADF.
void fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      (void)::open("/", O_PATH);
    }
  }
}

int internal_error(const char* what) {
  std::cerr << "error[internal]: " << what
            << "\n  = help: " << agent::row(agent::Code::internal).advice << std::endl;
  return agent::row(agent::Code::internal).exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  ::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of write()
  ::signal(SIGXFSZ, SIG_IGN);  // so is a file that may not grow
  int code = 0;
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    code = cli::run_program(arguments, environment_of_process());
  } catch (const std::exception& error) {
    code = internal_error(error.what());
  } catch (...) {
    code = internal_error("an unknown exception");
  }
  if (code > 128) {
    cli::die_by(code - 128);
  }
  return code;
}
