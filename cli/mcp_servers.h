// The MCP servers of an agent, each where its settings put it.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/user_places.h"
#include "tools/mcp/servers.h"

#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

namespace cli {

struct McpWorld {
  std::filesystem::path cwd;  // where those in the sandbox start
  agent::Clock& clock;
  std::uint64_t seed = 0;
  std::stop_token stop;  // of the start
};

// Errors as of Servers::start. What is borrowed outlives them.
agent::Result<std::unique_ptr<tools::mcp::Servers>> start_mcp_servers(const agent::AgentSpec& agent,
                                                                      const UserPlaces& places,
                                                                      const McpWorld& world);

// For the log.
std::vector<agent::McpConnection> connections_of(const tools::mcp::Servers* servers);

}  // namespace cli
