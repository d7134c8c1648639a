// Files that an agent file names for a model to read: `context`, `@picture.png` in its prompt, a
// schema. A model sees of them what tools may read, and no link leads out of where they are.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace config {

// What the sandbox of an agent says of a path without links; `named`: it opens that by name.
enum class Reading : std::uint8_t { closed, open, named };
// Of a file by the name that it was found by (absolute), and without links. sandbox.setup: there
// can be no such sandbox; tool.policy_blocked: permissions deny it to tools, for the reason that is
// the message.
using ReadingPolicy = std::function<agent::Result<Reading>(const std::filesystem::path& name,
                                                           const std::filesystem::path& real)>;

class NamedFiles {
 public:
  // Without a policy every file is open.
  NamedFiles(std::filesystem::path folder, ReadingPolicy policy)
      : folder_(std::move(folder)), policy_(std::move(policy)) {}

  // Relative paths start at the agent file's folder.
  std::filesystem::path locate(const std::filesystem::path& written) const {
    return folder_ / written;
  }
  // config.invalid, or sandbox.setup of the policy, where what the path leads to (`real`, without
  // links) is closed or denied, or is not below the folder that the path starts at: the agent
  // file's, or one above it for each `..`.
  agent::Result<void> judge(const std::filesystem::path& written,
                            const std::filesystem::path& real) const;
  // The same before anything runs: a sandbox that cannot be made will end the run by itself.
  agent::Result<void> foresee(const std::filesystem::path& written,
                              const std::filesystem::path& real) const;
  // The content of the very file that was judged: at most `limit` bytes. Errors: as read_text_file
  // and judge().
  agent::Result<std::string> read(const std::filesystem::path& written, std::size_t limit) const;

 private:
  std::filesystem::path folder_;
  ReadingPolicy policy_;
};

}  // namespace config
