// A command line of the user's own, as hooks and guardrails run it: by `sh -c`, outside the
// sandbox, told something on stdin.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"
#include "tools/hooks/script_files.h"

#include <expected>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace tools {

class ProgramRunner;

// What such commands are run with; borrowed but for the environment.
struct UserPrograms {
  std::filesystem::path folder;     // where they start: the agent file's
  std::filesystem::path temporary;  // the run's own folder
  agent::Environment environment;   // without provider keys
  ProgramRunner* program_runner = nullptr;
};

class UserCommand {
 public:
  struct Done {
    int exit_status = 0;
    std::string output;  // of stdout
    bool is_whole = true;
    std::string errors;  // of stderr
  };

  // `as_read`: the line with all that is known of it filled in; the files that it names have to
  // stay what they are now.
  UserCommand(std::string line, std::string_view as_read, const std::filesystem::path& folder)
      : line_(std::move(line)), scripts_(script_files(as_read, folder)) {}

  // Waits for its end; else why it broke, in words that follow a name.
  std::expected<Done, std::string> run(const UserPrograms& programs,
                                       const agent::Environment& environment,
                                       std::string input,
                                       agent::Milliseconds timeout,
                                       std::stop_token stop) const;

 private:
  std::string line_;
  FileWatch scripts_;
};

}  // namespace tools
