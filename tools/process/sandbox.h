// The sandbox of one run: what its tools may reach, how much of that this machine can enforce, and
// what has to be put right after each call. How it is enforced is sandbox/'s.
#pragma once
#include "agent/environment.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/process/supervisor.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/policy.h"
#include "tools/sandbox/protected_files.h"
#include "tools/web/host_list.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace tools {

struct SandboxOptions {
  std::filesystem::path workspace;             // absolute
  std::filesystem::path agent_folder;          // relative paths of the spec start here
  std::filesystem::path agent_file;            // empty: there is none
  std::filesystem::path temporary;             // the run's own folder
  std::vector<std::filesystem::path> secrets;  // errand's configuration and state
  std::filesystem::path shared;                // sandbox::SharedPictures', in one of these
  std::vector<std::filesystem::path> obeyed;   // what errand itself obeys: no tool may change it
  sandbox::Outputs outputs;
  std::vector<std::string> other_runs = {};  // as Surroundings'
  bool runs_programs = true;                 // some tool of the agent does
  bool writes = true;                        // some tool of the agent changes files
  bool is_for_git = false;  // errand's own git runs in it: commits and switches, without a network
  std::stop_token stop = {};  // ends waits for other runs
  const agent::Environment& environment;
  Supervisor* supervisor = nullptr;  // borrowed
};

// What tools in such a sandbox may read and write, without anything that enforces it.
// sandbox.setup.
agent::Result<sandbox::Policy> policy_of(const agent::SandboxSpec& spec,
                                         const SandboxOptions& options);

// For what of the spec's `read` and `write` that would be refused, whatever else is there.
std::vector<agent::Error> mistakes_in_places(const agent::SandboxSpec& spec,
                                             const SandboxOptions& options);

// Thread-safe.
class Sandbox {
 public:
  // For a sandbox that is not off. sandbox.setup: the workspace is / or a home folder, a path that
  // is not there, a required layer that is missing. config.invalid: a host that is none.
  static agent::Result<std::unique_ptr<Sandbox>> create(const agent::SandboxSpec& spec,
                                                        const SandboxOptions& options);

  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const sandbox::Policy& policy() const { return policy_; }
  const sandbox::LayerSet& in_force() const { return in_force_; }
  // What programs may reach through their EgressProxy; null: they have none.
  const HostList* hosts() const { return hosts_ ? &*hosts_ : nullptr; }
  // TMPDIR and the folders of caches, for programs.
  const agent::Environment& variables() const { return variables_; }

  std::vector<std::string> layers() const;   // by name, those in force
  std::vector<std::string> missing() const;  // by name, those that would be of use here
  // A sentence for each that nothing stands in for, and one where git obeys what programs may
  // write.
  std::vector<std::string> warnings() const;

  // Whether programs find something of their own at the path (shared memory, terminals), which they
  // may read and write.
  bool has_own(const std::filesystem::path& path) const;

  // What is not to be read is hidden from programs from the next begin() on, what is not to be
  // written locked, as what errand itself writes is: as far as it is there then, and mounts can be
  // made.
  void close(std::vector<std::filesystem::path> reading,
             std::vector<std::filesystem::path> writing);
  // Whether that holds for the place; it may be closed anyway.
  bool keeps(const std::filesystem::path& place, bool is_writing) const;

  // Before each program: its profile. Where another file or folder stands at a place that the last
  // one named, that is another profile. As ProtectedFiles::begin fails.
  agent::Result<std::string> begin();
  // After it, with that profile: what it has changed or made of what git and errand obey, and what
  // came of that.
  sandbox::ProtectedEnd end(const std::string& profile, bool have_locks_held);
  // Before a file tool writes, and by begin(): the first time, it looks at what is there.
  agent::Result<void> note_writing();
  // At the run's end: what was made somewhere below. Once more only after further writing.
  sandbox::ProtectedFiles::Sweep sweep();

 private:
  Sandbox(sandbox::Policy policy, Supervisor* supervisor, const SandboxOptions& options);
  std::vector<std::string> names_of(bool are_in_force) const;
  agent::Result<std::string> next_profile();
  void keep_survey();
  std::uintptr_t name_of_survey() const { return reinterpret_cast<std::uintptr_t>(this); }
  std::vector<struct stat> find_denied();
  std::vector<struct stat> look_at_neighbours() const;
  bool can_be_covered(const std::filesystem::path& real) const;
  agent::Result<void> try_out(const agent::SandboxSpec& spec);
  agent::Result<void> make_own_folders() const;

  sandbox::Policy policy_;
  Supervisor* supervisor_;  // null: for file tools alone
  std::stop_token stop_;
  bool is_swept_ = true;
  std::atomic<bool> is_written_ = false;  // perhaps, since the last sweep
  std::filesystem::path kept_in_;         // the survey, until the sweep; empty: nowhere
  std::mutex mutex_;
  std::uint64_t kept_survey_ = 0;  // ProtectedFiles::surveyed_since's
  sandbox::Profile profile_;
  std::string encoded_;                            // `profile_`, as the last program had it
  std::vector<std::filesystem::path> neighbours_;  // folders that are partly closed
  std::vector<struct stat> neighbours_then_;       // as the last program found them
  std::vector<std::string> always_locked_;         // of `profile_`, beside what comes and goes
  std::vector<std::filesystem::path> denied_reading_;
  std::vector<std::filesystem::path> denied_writing_;
  std::vector<struct stat> denied_then_;  // as the last program found them
  std::uint64_t files_then_ = 0;          // ProtectedFiles::begin's number
  agent::Environment variables_;
  std::vector<std::string> undone_;        // before anything was started, in sentences
  std::vector<std::string> named_by_git_;  // setting and path: programs may write there
  std::optional<HostList> hosts_;
  sandbox::LayerSet wanted_;
  sandbox::LayerSet in_force_;
  std::shared_ptr<sandbox::ProtectedFiles> protected_;
};

// The folder for programs' own temporary files in a run's folder.
std::filesystem::path programs_temporary(const std::filesystem::path& run_folder);

}  // namespace tools
