// Files as the file tools use them: opened without ever hanging on a pipe or a device, replaced as
// a whole or not at all. Messages name the path as the model wrote it.
#pragma once
#include "agent/result.h"
#include "tools/descriptor.h"
#include "tools/sandbox/policy.h"
#include "tools/tool.h"

#include <cstdint>
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
};

// A relative path starts at the call's cwd; `~` is an ordinary character. Errors:
// tool.invalid_parameters (empty, or with a NUL byte).
agent::Result<NamedPath> resolve(std::string_view path, const CallContext& context);

struct RegularFile {
  Descriptor descriptor;  // for reading
  struct stat status = {};
};

// tool.failed where it is missing, forbidden, or something else than a regular file;
// sandbox.violation where it is in a secret place, by whatever way the path leads there.
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

struct Replaced {
  bool is_new = false;
  std::int64_t old_size = 0;
};

// Writes a new file beside the target and renames it over: whoever looks sees the old content or
// the new one, also after a failure (never half; no file is left over). A link is followed, its
// target replaced; mode and, where allowed, owner stay. Missing folders are made. `seen`: where
// given, what the content was derived from; tool.failed if the file is another by now.
// sandbox.violation where the target is no place to write to, also where a folder on the way is
// swapped for a link meanwhile.
agent::Result<Replaced> replace_file(const NamedPath& file,
                                     std::string_view content,
                                     const struct stat* seen = nullptr);

// sandbox.violation where the folder is in a secret place.
agent::Result<void> check_listing(const NamedPath& folder);

// "no permission to read `x`" and what to do about it, from errno.
std::unexpected<agent::Error> file_error(std::string_view doing,
                                         std::string_view shown,
                                         int error_number);

// The error as a tool's output.
Output failure(const agent::Error& error);

}  // namespace tools
