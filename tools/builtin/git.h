// The system's git as errand runs it for a tool: with arguments, settings and variables of errand's
// own, so that it runs nothing that the repository or the user's settings name: no hook, monitor,
// filter, pager, editor or signing program, and nothing on the network.
#pragma once
#include "agent/result.h"
#include "tools/process/program_runner.h"
#include "tools/tool.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

class Git {
 public:
  struct Said {
    int status = 0;
    std::string text;    // stdout
    std::string errors;  // stderr
  };
  using Words = std::vector<std::string>;

  // sandbox.violation: tools may not write in the working folder.
  static agent::Result<void> check_place(const CallContext& context);

  // tool.failed: git is not installed, or the working folder is not the top of a repository's
  // files. sandbox.violation: tools may not write there. The context is borrowed.
  static agent::Result<Git> open(const CallContext& context);

  // Whatever the exit status is. tool.*: git did not run to its end.
  agent::Result<Said> ask(Words arguments, std::optional<std::string> input = std::nullopt) const;
  // What git prints; tool.failed, with git's own words, where the exit status is not 0.
  agent::Result<std::string> run(Words arguments,
                                 std::optional<std::string> input = std::nullopt) const;
  // The same of what git ends each of with a NUL.
  agent::Result<std::vector<std::string>> list(
      Words arguments, std::optional<std::string> input = std::nullopt) const;

  // tool.failed where a filter (a program) would have to change one of the files, which names them.
  // `is_of_index`: as the attributes of the index say, else those of the working folder.
  agent::Result<void> check_filters(std::span<const std::string> files, bool is_of_index) const;

  // Whether the user's settings want commits to be signed.
  agent::Result<bool> wants_signatures() const;
  // "main", or "a detached HEAD at 1a2b3c4".
  agent::Result<std::string> position() const;
  std::filesystem::path temporary() const;  // a folder that git may write
  // The same repository with another index, which is made when it is first written.
  Git with_index(const std::filesystem::path& index) const;

 private:
  explicit Git(const CallContext& context) : context_(&context) {}
  agent::Result<void> switch_filters_off();
  agent::Error failed(const Said& said) const;

  const CallContext* context_;
  std::string program_;
  Words settings_;
  agent::Environment environment_;
  std::filesystem::path folder_;  // git's own
};

// As git takes a list of files.
std::string joined_by_nul(std::span<const std::string> texts);

// At most a few of them, as "`a`, `b` and 7 more".
std::string some_of(std::span<const std::string> names);

// Where nobody could look at what git has left, the run cannot go on.
Output failed_by_git(const agent::Error& error);

}  // namespace tools
