// Files as the file tools use them: opened without ever hanging on a pipe or a device. How they are
// written is atomic_file_write.h's. Messages name the path as the model wrote it.
#pragma once
#include "agent/descriptor.h"
#include "agent/result.h"
#include "tools/sandbox/policy.h"
#include "tools/tool.h"

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace tools {

// A path of a call's arguments: what the model wrote, where that is, and what the call may do
// there.
struct NamedPath {
  std::string shown;
  std::filesystem::path path;               // absolute
  const sandbox::Policy* policy = nullptr;  // borrowed; null: no sandbox
  SeenFiles* seen = nullptr;                // borrowed; null: files need not be known to be changed
  const FileJudge* judge = nullptr;         // borrowed; null: nothing more is asked
  std::filesystem::path inside = {};        // what is in this folder was judged with it
};

// A relative path starts at the call's cwd; `~` is an ordinary character. Errors:
// tool.invalid_parameters (empty, or with a NUL byte).
agent::Result<NamedPath> resolve(std::string_view path, const CallContext& context);

struct RegularFile {
  agent::Descriptor descriptor;  // for reading
  struct stat status = {};
};

// tool.failed where it is missing, forbidden, or something else than a regular file;
// sandbox.violation where it is in a secret place, tool.policy_blocked where permissions do not let
// the call have it, by whatever way the path leads there.
agent::Result<RegularFile> open_regular(const NamedPath& file);

// The next at most `size` bytes; 0 at the end. tool.failed where the disk or the kernel says no.
agent::Result<std::size_t> read_some(const RegularFile& file,
                                     const NamedPath& name,
                                     char* buffer,
                                     std::size_t size);

// The whole content. tool.failed where it is over `limit` bytes, tool.cancelled after `stop`.
agent::Result<std::string> read_whole(const RegularFile& file,
                                      const NamedPath& name,
                                      std::size_t limit,
                                      const std::stop_token& stop);

// The model has got to know what is in the file.
void note_seen(const RegularFile& file, const NamedPath& name);

// Where a chain of links ends; the last path need not exist. tool.failed where it has no end.
agent::Result<std::filesystem::path> follow_links(const NamedPath& file);

// Where an open file or folder really is.
std::filesystem::path real_path(const agent::Descriptor& opened);

// sandbox.violation where the verdict is any but `allowed`.
agent::Result<void> check_verdict(sandbox::Verdict verdict,
                                  std::string_view doing,
                                  const NamedPath& file);

// The same of what open_regular() would read, without opening it.
agent::Result<void> check_reading(const NamedPath& file);

// The same of open_folder(); a folder that is not there is none in a secret place.
agent::Result<void> check_listing(const NamedPath& folder);

// tool.policy_blocked where the rules refuse what the path has led to.
agent::Result<void> check_rules(const NamedPath& file, const std::filesystem::path& real);

// The folder, opened to be listed. Errors: as open_regular().
agent::Result<agent::Descriptor> open_folder(const NamedPath& folder);

// "no permission to read `x`" and what to do about it, from errno.
std::unexpected<agent::Error> file_error(std::string_view doing,
                                         std::string_view shown,
                                         int error_number);

// "`x` is a folder, not a regular file", from the mode.
std::unexpected<agent::Error> not_regular(const NamedPath& file, mode_t mode);

// The error as a tool's output.
Output failure(const agent::Error& error);

}  // namespace tools
