// What the tools of a run may read and write, decided before any of them runs. Programs get it as a
// Profile, errand's own file tools ask it path by path.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/sandbox/places.h"
#include "tools/sandbox/profile.h"
#include "tools/sandbox/protected_files.h"
#include "tools/sandbox/repository.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tools::sandbox {

// Files that errand writes for the run. Absolute paths.
struct Outputs {
  std::vector<std::filesystem::path> meanwhile;   // by their names: no tool may change them
  std::vector<std::filesystem::path> at_the_end;  // the folders on the way may not be moved
};

// Where a run takes place. Absolute paths.
struct Surroundings {
  std::filesystem::path workspace;
  std::filesystem::path temporary;     // the programs' own; exists
  std::filesystem::path run_folder;    // what the run keeps of its tools' output
  std::filesystem::path agent_folder;  // relative paths of the spec start here
  std::filesystem::path agent_file;    // empty: there is none
  Homes homes;
  std::vector<std::filesystem::path> search_path;    // folders of PATH
  std::vector<std::filesystem::path> prefixes = {};  // of active toolchains whose bin PATH has
  std::vector<std::filesystem::path> own;            // errand's configuration and state
  // Files that errand runs or reads as configuration, by the names that it does so by: every link
  // on the way counts.
  std::vector<std::filesystem::path> obeyed;
  std::vector<std::string> other_runs = {};  // their folders, as patterns of ReadingRules
  Outputs outputs = {};
  bool writes = true;              // there is a tool that could write
  bool writes_repository = false;  // git's folders of the workspace, too, but for what git obeys
};

// For people: the line of an agent file, "sandbox: {write: [/opt/x]}", that opens the path.
std::string key_opening(std::string_view key, const std::filesystem::path& path);
// The path, or the nearest folder above it that is there.
std::filesystem::path nearest_there(std::filesystem::path path);

// `git_folder`: git would take the folder that it is in for a repository of its own.
enum class Verdict : std::uint8_t { allowed, closed, outside, locked, git_folder };

class Policy {
 public:
  // For any mode but `off`. sandbox.setup: a workspace or a folder of the spec's `write` is /, a
  // home folder, a parent of one, or errand's own, or the latter has a secret place in it; a path
  // of the spec does not exist; a link that tools could change leads to errand's own.
  static agent::Result<Policy> create(const agent::SandboxSpec& spec, Surroundings around);

  // Whether the agent file, or a command in it, names that file of the work, and so it is kept.
  bool is_named_by_agent(const std::filesystem::path& path) const;

  // All that create() says of the spec's `read` and `write`.
  static std::vector<agent::Error> mistakes(const agent::SandboxSpec& spec,
                                            const Surroundings& around);

  // Of a path without links in it.
  Verdict reading(const std::filesystem::path& path) const;
  // The same of errand's own file tools, which are no process that a call could look into.
  Verdict reading_by_file_tools(const std::filesystem::path& path) const;
  Verdict writing(const std::filesystem::path& path) const;
  // The same of errand's own file tools, which nothing is looked at after: they neither make a
  // folder that git would take for a repository nor change anything in one, whatever it is called.
  Verdict writing_by_file_tools(const std::filesystem::path& path) const;
  // The first folder below `top` that git would take for a repository with these files (relative to
  // that), and does not now; empty: none.
  std::filesystem::path new_git_folder(const std::filesystem::path& top,
                                       const std::vector<std::string>& files) const;
  // Whether the spec's `read` or `write` names it, or what it is in, and it is not closed in that.
  bool is_opened_by_name(const std::filesystem::path& path) const;

  // Whether people may be told to name it in `read` or `write`: it is no folder of the system, and
  // neither a home as a whole nor a parent of one.
  bool may_be_named(const std::filesystem::path& path) const;
  bool is_read_only() const { return is_read_only_; }
  bool has_network() const { return limits_.has_sockets(); }

  // Whether a folder that may be written, but the temporary one, lies in it, or is it.
  bool writes_below(const std::filesystem::path& folder) const;
  // What of the writable folders git and errand obey; also what does not exist yet.
  ProtectedFiles::Options protection() const;
  // What errand itself writes inside what may be written. Only mounts keep programs from it.
  const std::vector<std::filesystem::path>& kept() const { return kept_; }
  // Of these errand's own folders, of which each has to be there to be kept.
  const std::vector<std::filesystem::path>& own_folders() const { return own_; }
  Profile profile() const;

 private:
  void keep(const std::filesystem::path& name);
  bool is_obeyed(const std::filesystem::path& path) const;
  bool is_in_git_folder(const std::filesystem::path& path) const;

  std::vector<std::filesystem::path> writable_;
  std::vector<std::filesystem::path> roots_;   // the outermost of these but the temporary folder
  std::vector<std::filesystem::path> tops_;    // these, and what is checked out in them
  std::vector<std::filesystem::path> obeyed_;  // single files and links in them that are obeyed
  std::vector<std::filesystem::path>
      crossed_;  // folders that `..` follows: they stay where they are
  // Folders that lead to what is obeyed, there already or not: none may become a link.
  std::vector<std::filesystem::path> on_the_way_;
  std::vector<std::filesystem::path> allowed_;  // what else is obeyed in them and may be written
  std::vector<std::filesystem::path> own_;
  std::vector<std::filesystem::path> kept_;
  std::vector<std::filesystem::path> held_;   // what is written there at the end
  Repository repository_;                     // where it may be written
  std::vector<std::filesystem::path> named_;  // `read` and `write` of the spec
  ReadingRules reading_;
  std::vector<std::filesystem::path> homes_;
  std::vector<std::filesystem::path> whole_;  // homes, those inside others, too
  bool is_read_only_ = false;
  bool is_for_git_ = false;
  Profile limits_;  // network and numbers
};

}  // namespace tools::sandbox
