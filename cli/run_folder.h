// The folder in which the tools of one run leave what is too long for a result.
#pragma once
#include "agent/descriptor.h"
#include "agent/environment.h"
#include "agent/result.h"
#include "tools/sandbox/protected_files.h"

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cli {

// Whether tools may write in that folder, which is absolute and without links.
using IsWritten = std::function<bool(const std::filesystem::path&)>;

// Where a run's folder is to be: TMPDIR where that is absolute, /tmp or /var/tmp, the first that is
// not `is_written`, so that no tool can put something else in its place. sandbox.setup: all are.
agent::Result<std::filesystem::path> find_temporary(const agent::Environment& environment,
                                                    const IsWritten& is_written);

// Those of all runs, as patterns of sandbox::ReadingRules.
std::vector<std::string> run_folders(const agent::Environment& environment);

// While it is there it is locked, so that a later run can tell the folders of the living from those
// that a run or a single call left behind, and sweeps a few of these away.
class RunFolder {
 public:
  // Where it cannot be made, who writes to it says so.
  RunFolder(const std::filesystem::path& temporary, const std::string& run_id);
  // Removes it and what is in it; where it is kept or left, what programs left in their part of it.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // That run's session, in that journal, names what is in it: it stays, also where this process is
  // killed.
  void keep(const std::string& run_id, const std::filesystem::path& journal);
  // A text names what is in it, and nobody else: it stays until a later command sweeps.
  void leave() { is_left_ = true; }
  const std::filesystem::path& path() const { return path_; }
  // A folder in it in which nothing is, and where no tool may write. sandbox.setup
  agent::Result<std::filesystem::path> made_start() const;

 private:
  std::filesystem::path path_;
  agent::Descriptor lock_;  // none: there is no folder
  bool is_kept_ = false;
  bool is_left_ = false;
};

// Those that processes of these runs have left, and that are this user's.
std::vector<std::filesystem::path> kept_folders(const agent::Environment& environment,
                                                std::span<const std::string> run_ids);
// What tools have left of runs of this journal whose process was killed: it is renamed now, before
// anything is started that might obey it. `is_theirs` says which runs. Not by what lies where tools
// may write. cli.usage: a program of another process is at work there, by what is shown in
// `pictures` (empty: nobody is looked for).
tools::sandbox::ProtectedFiles::Sweep sweep_after_kill(
    const agent::Environment& environment,
    const std::filesystem::path& journal,
    const IsWritten& is_written,
    const std::function<bool(const std::string& run_id)>& is_theirs,
    const std::filesystem::path& pictures = {});

// Of runs that this journal has no more. What another one keeps of them, as the one from which they
// came, stays.
void remove_kept(const agent::Environment& environment,
                 std::span<const std::string> run_ids,
                 const std::filesystem::path& journal);

}  // namespace cli
