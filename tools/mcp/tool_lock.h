// The tools of an agent's MCP servers as a person has accepted them, and what is different since.
// Where such a lock is kept is not known here.
#pragma once
#include "agent/json.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

// The digests say what it is, the rest is for people.
struct LockedTool {
  std::string description;  // its beginning, on one line
  std::string description_sha256;
  std::vector<std::string> parameters;  // the names that its schema has at the top
  std::string schema_sha256;            // of the schema, in whatever way it is written
  std::string results_sha256 = {};      // likewise, of its `outputSchema`; empty: it has none
  // Their schemas, by those names: short ones whole, of others the beginning and a digest. Nothing
  // of those that are many, and in a lock of an earlier errand.
  std::map<std::string, std::string> schemas = {};
  std::vector<std::string> required = {};  // sorted; likewise

  bool operator==(const LockedTool& other) const {
    return description_sha256 == other.description_sha256 && schema_sha256 == other.schema_sha256 &&
           results_sha256 == other.results_sha256;
  }
};

using LockedTools = std::map<std::string, LockedTool>;  // of a server, by its names

struct ToolLock {
  std::map<std::string, LockedTools> servers;

  bool operator==(const ToolLock&) const = default;
};

// Of a tool as its server describes it, without secrets: what is said of it is cut, the digests are
// of all of it.
LockedTool locked_tool(const agent::Json& definition, const agent::Redactor& redactor);

// A line a tool, sorted: the same for the same tools.
std::string lock_text(const ToolLock& lock);

// config.invalid: it is no lock, or one of another version; the message begins with `file`.
agent::Result<ToolLock> read_lock(std::string_view text, std::string_view file);

// How a tool is another one, in a part of a sentence; empty: it is not.
std::string change(const LockedTool& before, const LockedTool& after);

// What `now` has that the lock has not, and what it lacks, a sentence each, on one line. Of servers
// that are in the agent file and not in `now` nothing is said: they did not start.
std::vector<std::string> differences(const ToolLock& lock,
                                     const ToolLock& now,
                                     std::span<const std::string> servers_of_agent);

}  // namespace tools::mcp
