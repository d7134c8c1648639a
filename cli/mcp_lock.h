// The lock of an agent's MCP tools: a file beside the agent file.
#pragma once
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "tools/mcp/servers.h"
#include "tools/mcp/tool_lock.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

std::vector<std::string> names_of_servers(const agent::AgentSpec& agent);

// nullopt: there is none. config.invalid where it cannot be read, is a link, or is no lock.
using ReadLock = agent::Result<std::optional<tools::mcp::ToolLock>>;
// Before any server or tool of all that work together has run: one of them may make it.
ReadLock read_mcp_lock(const agent::AgentSpec& agent);

// Of an agent without servers: config.invalid where it locks one.
agent::Result<void> check_locks_nothing(const agent::AgentSpec& agent, const ReadLock& read);

// config.invalid where a lock was there, and the tools that were offered are others. To be asked
// before anybody is told of them. From then on the servers are kept to the lock.
agent::Result<void> check_mcp_lock(const agent::AgentSpec& agent,
                                   const ReadLock& read,
                                   tools::mcp::Servers& servers,
                                   std::span<const std::string> servers_of_agent,
                                   const agent::Redactor& redactor);

// Whoever reads the file sees the old lock or the new one. cli.cannot_create: also where a link is
// in its place, or the lock is not there once it is written.
agent::Result<void> write_mcp_lock(const agent::AgentSpec& agent, const tools::mcp::ToolLock& lock);

// As messages name it.
std::string shown_lock_file(const agent::AgentSpec& agent);

}  // namespace cli
