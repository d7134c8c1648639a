#include "cli/mcp_servers.h"

#include "agent/id.h"
#include "agent/text.h"
#include "cli/user_folders.h"
#include "tools/hooks/file_watch.h"
#include "tools/hooks/script_files.h"
#include "tools/hooks/user_command.h"
#include "tools/oauth/oauth_authorizer.h"
#include "tools/permissions/permissions.h"
#include "tools/web/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

namespace cli {
namespace {

namespace oauth = tools::oauth;
using agent::Code;
using agent::Result;
using providers::KeyRequest;

// Below the folder of the journal.
std::filesystem::path logins_folder(const agent::Environment& environment) {
  const std::filesystem::path state = state_folder(environment);
  return state.is_absolute() ? state / "mcp" : std::filesystem::path();
}

// The trace that errand was started in; else one for all processes of a run.
tools::mcp::TraceContext trace_of(const McpWorld& world) {
  const auto given = world.environment.find("TRACEPARENT");
  return tools::mcp::trace_context(
      given == world.environment.end() ? std::string_view() : given->second,
      world.run_id.empty() ? agent::new_run_id() : world.run_id);
}

// To where the user lets the variables go.
Result<void> check_uses(std::span<const agent::EnvironmentUse> uses,
                        KeyRequest::Place place,
                        const providers::KeyHosts& hosts,
                        const std::string& address) {
  if (uses.empty()) {
    return {};
  }
  TRY_ASSIGN(const providers::Origin origin, providers::origin_of(address, Code::mcp_auth));
  for (const agent::EnvironmentUse& use : uses) {
    const KeyRequest request{
        .variable = use.name, .origin = origin, .place = place, .where = use.where};
    if (!hosts.allows(request)) {
      return agent::fail(providers::refusal(request));
    }
  }
  return {};
}

// A secret of the agent file goes to the issuer that it names beside it, which the user was asked
// about before, and to where the user lets its variables go.
Result<void> check_secret(const agent::McpOAuthSpec& spec,
                          const providers::KeyHosts& hosts,
                          const std::string& address) {
  TRY_ASSIGN(const providers::Origin origin, providers::origin_of(address, Code::mcp_auth));
  if (!spec.issuer.empty()) {
    const auto issuer = providers::origin_of(spec.issuer, Code::config_invalid);
    if (issuer && *issuer == origin) {
      return {};
    }
  }
  if (spec.in_secret.empty()) {
    return agent::fail(
        Code::config_invalid,
        fmt::format("the secret of `oauth` is for {}, and tokens are given by {}",
                    spec.issuer,
                    origin.text),
        "take it from the environment (`${env:NAME}`), and allow that server by `key_hosts`");
  }
  return check_uses(spec.in_secret, KeyRequest::Place::client, hosts, address);
}

}  // namespace

std::string names_of_written_out(const agent::AgentSpec& agent) {
  std::string names;
  const auto add = [&](const std::string& more) {
    names += (names.empty() || more.empty() ? "" : ", ") + more;
  };
  for (const agent::SubAgentSpec& sub : agent.sub_agents) {
    if (sub.agent) {
      add(sub.agent->mcp_servers.empty() ? std::string() : agent::shell_word(sub.agent->file));
      add(names_of_written_out(*sub.agent));
    }
  }
  return names;
}

std::string where_servers_are(const agent::AgentSpec& agent) {
  const std::string others = names_of_written_out(agent);
  return others.empty()
             ? std::string("it names them under `mcp_servers`")
             : "sub-agents in its file have; name one as the agent: " + agent::one_line(others);
}

Result<agent::McpServerSpec> find_mcp_server(const agent::AgentSpec& agent,
                                             const std::string& name) {
  const auto found = std::ranges::find(agent.mcp_servers, name, &agent::McpServerSpec::name);
  if (found == agent.mcp_servers.end()) {
    std::vector<std::string> names;
    std::ranges::transform(
        agent.mcp_servers, std::back_inserter(names), &agent::McpServerSpec::name);
    return agent::fail(Code::cli_usage,
                       fmt::format("the agent has no MCP server `{}`", agent::one_line(name, 60)),
                       names.empty() ? where_servers_are(agent)
                                     : fmt::format("it has {}", fmt::join(names, ", ")));
  }
  return *found;
}

bool has_own_authorization(const agent::McpServerSpec& server) {
  return !agent::is_blank(agent::header(server.headers, "authorization"));
}

Result<oauth::OAuthOptions> oauth_options_of(const agent::McpServerSpec& server,
                                             const agent::AgentSpec& agent,
                                             const McpWorld& world) {
  auto url = tools::parse_url(server.url);
  if (!url) {
    return agent::fail(Code::config_invalid, url.error().message);
  }
  const agent::McpOAuthSpec spec = server.oauth.value_or(agent::McpOAuthSpec{});
  return oauth::OAuthOptions{
      .name = server.name,
      .server = *std::move(url),
      .spec = spec,
      .headers = server.headers,
      .folder = logins_folder(world.environment),
      .http = &world.http,
      .clock = &world.clock,
      .login_command = fmt::format(
          "errand mcp login {} {}", agent::shell_word(agent.file), agent::shell_word(server.name)),
      .may_have_secret =
          [spec, hosts = world.key_hosts](const std::string& address) {
            return check_secret(spec, hosts, address);
          },
      .may_be_told = [spec, in_url = server.in_url, hosts = world.key_hosts](
                         const std::string& address) -> Result<void> {
        TRY(check_uses(spec.in_words, KeyRequest::Place::login, hosts, address));
        return check_uses(in_url, KeyRequest::Place::login, hosts, address);
      }};
}

std::vector<std::string> login_secrets(const agent::AgentSpec& agent,
                                       const agent::Environment& environment) {
  std::vector<std::string> secrets;
  const auto folder = logins_folder(environment);
  for (const agent::McpServerSpec& server : agent.mcp_servers) {
    if (server.oauth) {
      secrets.push_back(server.oauth->client_secret);
      secrets.push_back(server.oauth->private_key);
    }
    const auto url = tools::parse_url(server.url);
    if (server.is_program() || !url || folder.empty()) {
      continue;
    }
    const auto login = oauth::login_store_of({.server = *url,
                                              .spec = server.oauth.value_or(agent::McpOAuthSpec{}),
                                              .folder = folder})
                           .load();
    if (login && *login) {
      for (const std::string* token :
           {&(*login)->access_token, &(*login)->refresh_token, &(*login)->client_secret}) {
        secrets.push_back(*token);
      }
    }
  }
  return secrets;
}

void hide_server_secrets(const agent::AgentSpec& agent,
                         const agent::Environment& environment,
                         agent::Redactor& redactor) {
  for (const agent::McpServerSpec& server : agent.mcp_servers) {
    redactor.add(server.env);
    redactor.add_headers(server.headers);
  }
  for (const std::string& secret : login_secrets(agent, environment)) {
    redactor.add(secret);
  }
}

agent::Result<std::unique_ptr<tools::mcp::Servers>> start_mcp_servers(const agent::AgentSpec& agent,
                                                                      const UserPlaces& places,
                                                                      const McpWorld& world) {
  // Of those that run outside of the sandbox.
  const auto watches = std::make_shared<std::map<std::string, tools::FileWatch>>();
  for (const agent::McpServerSpec& server : agent::programs_of(agent.mcp_servers)) {
    if (const tools::UserPrograms programs = places.of(server.sandbox); programs.others_write) {
      watches->emplace(server.name,
                       tools::watch_of(tools::line_of(server.command),
                                       programs,
                                       tools::user_environment(programs, server.env)));
    }
  }
  const auto place_of = [&places, cwd = world.cwd, watches](const agent::McpServerSpec& server) {
    tools::UserPrograms programs = places.of(server.sandbox);
    if (!server.sandbox.is_off) {
      programs.folder = cwd;
    }
    const auto watch = watches->find(server.name);
    return tools::mcp::ServerPlace{.runner = programs.program_runner,
                                   .environment = tools::user_environment(programs, server.env),
                                   .folder = programs.folder,
                                   .changed = [watches, watch] {
                                     return watch == watches->end() ? std::filesystem::path()
                                                                    : watch->second.changed();
                                   }};
  };
  const auto authorizer_of =
      [&](const agent::McpServerSpec& server) -> std::unique_ptr<tools::mcp::Authorizer> {
    auto options = oauth_options_of(server, agent, world);
    if (has_own_authorization(server) || !options) {
      return nullptr;
    }
    return std::make_unique<oauth::OAuthAuthorizer>(*std::move(options));
  };
  return tools::mcp::Servers::start(agent.mcp_servers,
                                    {.place_of = place_of,
                                     .clock = &world.clock,
                                     .http = &world.http,
                                     .authorizer_of = authorizer_of,
                                     .retry = agent.retry,
                                     .version = ERRAND_VERSION,
                                     .seed = world.seed,
                                     .redactor = &world.redactor,
                                     .trace = trace_of(world),
                                     .questioner = world.questioner,
                                     .killed = world.killed,
                                     .on_started = world.on_started},
                                    world.stop);
}

std::vector<agent::Warning> idle_patterns(const tools::mcp::Servers* servers,
                                          const std::vector<agent::PermissionRule>& rules,
                                          const std::vector<std::string>& names) {
  return servers == nullptr
             ? tools::idle_patterns(rules, names)
             : tools::idle_patterns(servers->without_own(rules), servers->with_own_tools(names));
}

std::vector<agent::McpConnection> connections_of(const tools::mcp::Servers* servers) {
  std::vector<agent::McpConnection> connections;
  if (servers != nullptr) {
    for (tools::mcp::ConnectedServer& one : servers->connected()) {
      connections.push_back(std::move(one.connection));
    }
  }
  return connections;
}

std::vector<agent::Leftover> tidy_up(tools::mcp::Servers* servers, UserPlaces* places) {
  std::vector<agent::Leftover> left;
  if (servers != nullptr) {
    left = servers->tidy_up();
  }
  if (places != nullptr) {
    std::ranges::move(places->tidy_up(), std::back_inserter(left));
  }
  return left;
}

}  // namespace cli
