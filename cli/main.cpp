#include "agent/outcome.h"
#include "cli/program.h"
#include "cli/signals.h"

#include <csignal>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <malloc.h>
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

// A large block goes back to the system when it is freed. By itself glibc raises both thresholds to
// the size of what was freed, up to 32 MiB, and keeps as much for the next one.
void give_back_large_blocks() {
  constexpr int k_large = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, k_large);
  ::mallopt(M_TRIM_THRESHOLD, 4 * k_large);
}

// Where an exception went past everybody: on a thread, or while the run was told how it ended.
int last_words(const std::exception* exception) {
  const agent::Error error = exception != nullptr ? agent::error_of(*exception)
                                                  : agent::Error{.code = agent::Code::internal,
                                                                 .message = "an unknown exception"};
  std::cerr << "error[" << agent::row(error.code).name << "]: " << error.message
            << "\n  = help: " << agent::row(error.code).advice << std::endl;
  return agent::row(error.code).exit_code;
}

[[noreturn]] void end_by_exception() {
  int code = agent::row(agent::Code::internal).exit_code;
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& exception) {
    code = last_words(&exception);
  } catch (...) {
    code = last_words(nullptr);
  }
  ::_exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  cli::block_signals();  // until a command is there that hears them, or it is known that none will
  std::set_terminate(end_by_exception);
  fill_standard_descriptors();
  give_back_large_blocks();
  ::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of write()
  ::signal(SIGXFSZ, SIG_IGN);  // so is a file that may not grow
  int code = 0;
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    code = cli::run_program(arguments, environment_of_process());
  } catch (const std::exception& error) {
    code = last_words(&error);
  } catch (...) {
    code = last_words(nullptr);
  }
  if (code > 128) {
    cli::end_process(code);
  }
  return code;
}
