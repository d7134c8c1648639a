// The MCP servers of an agent, each where its settings put it.
#pragma once
#include "agent/clock.h"
#include "agent/event.h"
#include "agent/http.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "cli/user_places.h"
#include "providers/key_hosts.h"
#include "tools/mcp/servers.h"
#include "tools/oauth/oauth_options.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

// The agents that are written out in its file, at any depth, and have servers: as they are named by
// hand, in a list; empty: there are none.
std::string names_of_written_out(const agent::AgentSpec& agent);
// For the help on an agent that has no servers of its own.
std::string where_servers_are(const agent::AgentSpec& agent);

// cli.usage: it has none of that name.
agent::Result<agent::McpServerSpec> find_mcp_server(const agent::AgentSpec& agent,
                                                    const std::string& name);

struct McpWorld {
  std::filesystem::path cwd;  // where those in the sandbox start
  agent::Clock& clock;
  agent::Http& http;
  std::uint64_t seed = 0;
  std::stop_token stop;                                      // of the start
  tools::Questioner* questioner = nullptr;                   // borrowed; null: nobody is there
  std::function<std::optional<agent::Error>()> killed = {};  // as ServersOptions'
  const agent::Redactor& redactor;
  std::string run_id = {};  // empty: what is asked is part of none
  const agent::Environment& environment;
  providers::KeyHosts key_hosts;
  std::function<void(const tools::mcp::StartedServer&)> on_started = {};  // as ServersOptions'
};

// Whether its `headers` say who asks: then no login counts.
bool has_own_authorization(const agent::McpServerSpec& server);

// Of a server that is reached by HTTP, and may want a login. What is borrowed of the world outlives
// it.
agent::Result<tools::oauth::OAuthOptions> oauth_options_of(const agent::McpServerSpec& server,
                                                           const agent::AgentSpec& agent,
                                                           const McpWorld& world);

// Of its servers that are reached by HTTP: the clients' secrets, and the tokens of the logins that
// are kept. To be hidden.
std::vector<std::string> login_secrets(const agent::AgentSpec& agent,
                                       const agent::Environment& environment);

// All that its servers are given and nobody is to read: what they get, and logins.
void hide_server_secrets(const agent::AgentSpec& agent,
                         const agent::Environment& environment,
                         agent::Redactor& redactor);

// Errors as of Servers::start. What is borrowed outlives them.
agent::Result<std::unique_ptr<tools::mcp::Servers>> start_mcp_servers(const agent::AgentSpec& agent,
                                                                      const UserPlaces& places,
                                                                      const McpWorld& world);

// As tools::idle_patterns(), where these servers (null: none) are there. `names`: as
// names_in_rules().
std::vector<agent::Warning> idle_patterns(const tools::mcp::Servers* servers,
                                          const std::vector<agent::PermissionRule>& rules,
                                          const std::vector<std::string>& names);

// For the log.
std::vector<agent::McpConnection> connections_of(const tools::mcp::Servers* servers);

// RunnerOptions::tidy_up of those that are there: servers in the sandbox end before anybody looks.
std::vector<agent::Leftover> tidy_up(tools::mcp::Servers* servers, UserPlaces* places);

}  // namespace cli
