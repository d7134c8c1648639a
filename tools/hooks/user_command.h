// A command line of the user's own, as hooks and guardrails run it: by `sh -c`, told something on
// stdin.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"
#include "tools/hooks/file_watch.h"
#include "tools/hooks/script_files.h"

#include <cstddef>
#include <expected>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

namespace sandbox {
class Policy;
}
class ProgramRunner;

// What such a command is run with; borrowed but for the environment.
struct UserPrograms {
  std::filesystem::path folder;     // where it starts
  bool is_folder_empty = false;     // that one is the run's own, and nothing is found in it
  std::filesystem::path directory;  // from where files that it names are found
  std::filesystem::path temporary;  // the run's own folder
  agent::Environment environment;   // of errand; the command gets what is harmless of it
  ProgramRunner* program_runner = nullptr;
  const sandbox::Policy* policy = nullptr;  // what it may reach; null: all
  // Than tools, or a variable of its own: what it would run and is not there yet must not come.
  bool may_more = false;
  // Where the command is in no sandbox, and tools are: whether they can write there (absolute).
  std::function<bool(const std::filesystem::path&)> others_write = {};
  // Likewise of a folder: whether they can write in it, or in one below.
  std::function<bool(const std::filesystem::path&)> others_write_below = {};
};

// By how it is to be confined.
using UserProgramsOf = std::function<UserPrograms(const agent::CommandSandbox&)>;

// The folders of its PATH.
std::vector<std::filesystem::path> search_path_of(const agent::Environment& environment);

// What the command is told, `own` beside what all programs are. Outside of the sandbox that is few
// variables, and no place that others may write: neither a folder of PATH nor any other value.
agent::Environment user_environment(const UserPrograms& programs, const agent::Environment& own);
// The names of what is left out of `own` for that, or of PATH in it.
std::vector<std::string> names_left_out(const UserPrograms& programs,
                                        const agent::Environment& own);

// The files that the line names, and outside of the sandbox the programs that it leads to by the
// PATH of `environment`, but for those of the system: as they are now.
FileWatch watch_of(std::string_view line,
                   const UserPrograms& programs,
                   const agent::Environment& environment);

class UserCommand {
 public:
  static constexpr std::size_t k_most_output = 1u << 20;  // of each stream; the rest is lost

  struct Done {
    int exit_status = 0;
    std::string output;  // of stdout
    bool is_whole = true;
    std::string errors;  // of stderr
  };

  // `as_read`: the line with all that is known of it filled in; what watch_of() finds in it has to
  // stay what it is now.
  UserCommand(std::string line,
              std::string_view as_read,
              const UserPrograms& programs,
              const agent::Environment& environment);

  // Waits for its end; else why it broke, in words that follow a name.
  std::expected<Done, std::string> run(const UserPrograms& programs,
                                       const agent::Environment& environment,
                                       std::string input,
                                       agent::Milliseconds timeout,
                                       std::stop_token stop) const;

 private:
  std::string line_;
  Scripts named_;
  FileWatch scripts_;  // what of these, and of programs, has to stay what it is
};

}  // namespace tools
