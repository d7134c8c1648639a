#include "cli/mcp_servers.h"

#include <utility>

namespace cli {

agent::Result<std::unique_ptr<tools::mcp::Servers>> start_mcp_servers(const agent::AgentSpec& agent,
                                                                      const UserPlaces& places,
                                                                      const McpWorld& world) {
  const auto place_of = [&places, cwd = world.cwd](const agent::McpServerSpec& server) {
    tools::UserPrograms programs = places.of(server.sandbox);
    if (!server.sandbox.is_off) {
      programs.folder = cwd;
    }
    return tools::mcp::ServerPlace{.runner = programs.program_runner,
                                   .environment = tools::user_environment(programs, server.env),
                                   .folder = programs.folder};
  };
  return tools::mcp::Servers::start(agent.mcp_servers,
                                    {.place_of = place_of,
                                     .clock = &world.clock,
                                     .retry = agent.retry,
                                     .version = ERRAND_VERSION,
                                     .seed = world.seed},
                                    world.stop);
}

std::vector<agent::McpConnection> connections_of(const tools::mcp::Servers* servers) {
  std::vector<agent::McpConnection> connections;
  if (servers != nullptr) {
    for (tools::mcp::ConnectedServer& one : servers->connected()) {
      connections.push_back({.name = std::move(one.name),
                             .revision = std::move(one.revision),
                             .server = std::move(one.server),
                             .tools = std::move(one.tools)});
    }
  }
  return connections;
}

}  // namespace cli
