// `errand mcp login` and `logout`: what a person gives an agent's MCP servers, and takes back.
#include "agent/clock.h"
#include "agent/duration.h"
#include "agent/text.h"
#include "cli/agents_at_work.h"
#include "cli/browser.h"
#include "cli/commands/commands.h"
#include "cli/key_hosts.h"
#include "cli/mcp_servers.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/terminal/terminal.h"
#include "cli/tool_by_hand.h"
#include "providers/http/http_client.h"
#include "tools/oauth/log_in.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Result;

// What a login needs: the server, and the world that its requests go to.
struct LoginWorld {
  std::unique_ptr<FlowTree> tree;  // of all that work where the agent does
  agent::AgentSpec agent;
  agent::McpServerSpec server;
  agent::SystemClock clock = {};
  std::unique_ptr<providers::HttpClient> http;
  providers::KeyHosts hosts;
};

Result<LoginWorld> login_world_of(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(TeamByHand team, load_team_by_hand(parsed.positionals[0], context));
  agent::AgentSpec agent = std::move(team.agent);
  hide_server_secrets(agent, context.environment, context.redactor);
  TRY_ASSIGN(agent::McpServerSpec server, find_mcp_server(agent, parsed.positionals[1]));
  if (server.is_program()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the MCP server `{}` is a program, which nobody logs in to",
                                   agent::one_line(server.name, 60)),
                       "what it needs to know is given to it by `env`");
  }
  agent.mcp_servers = {server};
  return LoginWorld{.tree = std::move(team.tree),
                    .agent = std::move(agent),
                    .server = std::move(server),
                    .http = std::make_unique<providers::HttpClient>(context.environment),
                    .hosts = providers::KeyHosts(context.environment)};
}

// What the server and those who make its logins are told goes where the user has said.
Result<void> settle_keys(LoginWorld& world, const Parsed& parsed, Context& context) {
  auto settings = load_settings(context.environment, context.cwd);
  if (!settings) {
    return agent::fail(std::move(settings.error().front()));
  }
  TRY_ASSIGN(providers::KeyHosts hosts, key_hosts_of(parsed, context.environment));
  TRY(allow_settings(settings->user, hosts));
  KeyRequests keys(std::move(hosts), world.agent, Company::of(agents_at_work(*world.tree)));
  keys.add_servers();
  if (auto refused = settle(keys.take(),
                            {.redactor = context.redactor,
                             .cancellation = context.cancellation,
                             .user_config = settings->user.file,
                             .color = context.color_err});
      !refused.empty()) {
    return agent::fail(std::move(refused.front()));
  }
  world.hosts = keys.hosts();
  return {};
}

Result<tools::oauth::OAuthOptions> login_options(LoginWorld& world, const Context& context) {
  TRY_ASSIGN(auto options,
             oauth_options_of(world.server,
                              world.agent,
                              {.cwd = context.cwd,
                               .clock = world.clock,
                               .http = *world.http,
                               .stop = context.cancellation.stop(),
                               .redactor = context.redactor,
                               .environment = context.environment,
                               .key_hosts = world.hosts}));
  if (options.folder.empty()) {
    return agent::fail(Code::cli_usage,
                       "there is no place to keep a login: neither XDG_STATE_HOME nor HOME is set",
                       "set HOME");
  }
  return options;
}

Result<int> port_of(const Parsed& parsed) {
  const std::string text = parsed.value("--port").value_or("0");
  const auto port = agent::parse_count(text);
  if (!port || *port < 0 || *port > 65'535) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`--port {}` is not a port", agent::one_line(text, 60)),
                       "a number from 1 to 65535");
  }
  return static_cast<int>(*port);
}

void show_address(const std::string& address, const Context& context) {
  Terminal::say(fmt::format("Log in here: {}\n", agent::one_line(address, 16'000)));
  if (::isatty(STDERR_FILENO) == 1) {
    open_browser(address, context.environment);
  }
}

}  // namespace

Result<int> command_mcp_login(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto signals, SignalWatcher::start(context.cancellation));
  TRY_ASSIGN(const int port, port_of(parsed));
  TRY_ASSIGN(LoginWorld world, login_world_of(parsed, context));
  if (has_own_authorization(world.server)) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`{}` is asked with the `Authorization` of its `headers`, and "
                                   "with no login",
                                   agent::one_line(world.server.name, 60)),
                       "take that header out of the agent file to log in; `errand mcp test AGENT` "
                       "tries what is there");
  }
  if (world.server.oauth &&
      world.server.oauth->grant == agent::McpOAuthSpec::Grant::client_credentials) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`{}` has `grant: client_credentials`, which needs no login",
                                   agent::one_line(world.server.name, 60)),
                       "errand asks for its tokens by itself; `errand mcp test AGENT` tries that");
  }
  TRY(settle_keys(world, parsed, context));
  TRY_ASSIGN(const auto options, login_options(world, context));
  TRY_ASSIGN(auto listener, tools::oauth::CallbackListener::open(port));
  if (::isatty(STDERR_FILENO) == 1) {  // several requests come before there is an address to show
    Terminal::say(fmt::format("Asking {} how one logs in there ...\n",
                              agent::one_line(context.redactor.apply(world.server.url), 200)));
  }
  const auto login = tools::oauth::log_in(
      options,
      {.listener = listener,
       .show = [&](const std::string& address) { show_address(address, context); }},
      context.cancellation.stop());
  if (const int signal = context.cancellation.signal_number(); !login && signal != 0) {
    return 128 + signal;
  }
  if (!login) {
    return agent::fail(agent::Error(login.error()));
  }
  context.out << context.redactor.apply(
      fmt::format("logged in to {}, by {}{}\n",
                  agent::one_line(login->server, 200),
                  agent::one_line(login->issuer, 200),
                  login->refresh_token.empty() ? "; it cannot be renewed" : ""));
  return 0;
}

Result<int> command_mcp_logout(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto signals, SignalWatcher::start(context.cancellation));
  TRY_ASSIGN(LoginWorld world, login_world_of(parsed, context));
  TRY_ASSIGN(const auto options, login_options(world, context));
  const tools::oauth::LoginStore store = tools::oauth::login_store_of(options);
  auto lock =
      store.lock(world.clock, context.cancellation.stop());  // else a renewal brings it back
  if (const int signal = context.cancellation.signal_number(); !lock && signal != 0) {
    return 128 + signal;
  }
  if (!lock) {
    return agent::fail(std::move(lock).error());
  }
  const auto login = store.load();  // one without a token says what the next one has to ask for
  const bool was_there = !login || (*login && !(*login)->access_token.empty());
  TRY(store.remove());
  context.out << (was_there ? "logged out\n" : "there was no login\n");
  return 0;
}

}  // namespace cli
