#include "cli/browser.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>
#include <vector>

namespace cli {

void open_browser(const std::string& address, const agent::Environment& environment) {
  std::string program = agent::trimmed_value_of(environment, "BROWSER");
  if (program.empty()) {
    program = "xdg-open";
  }
  std::string argument = address;
  std::array<char*, 3> argv = {program.data(), argument.data(), nullptr};
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) {
    words.push_back(name + "=" + value);
  }
  std::vector<char*> envp;
  for (std::string& word : words) {
    envp.push_back(word.data());
  }
  envp.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  [[maybe_unused]] const int failed =
      ::posix_spawnp(&child, program.c_str(), &files, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
}

}  // namespace cli
