// `errand mcp`: the MCP servers of an agent, looked at and tried by hand.
#include "agent/clock.h"
#include "agent/id.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "cli/key_hosts.h"
#include "cli/known_names.h"
#include "cli/mcp_servers.h"
#include "cli/open_sandbox.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "cli/tool_by_hand.h"
#include "cli/tool_environment.h"
#include "cli/user_places.h"
#include "tools/process/supervisor.h"
#include "tools/runner/runner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;

// The servers of an agent file, started, and what they need. Each borrows from those before it.
struct Started {
  agent::AgentSpec agent;
  std::unique_ptr<tools::Supervisor> supervisor;
  std::unique_ptr<SignalWatcher> signals;
  agent::Redactor redactor;
  std::unique_ptr<ToolEnvironment> tool_environment;
  std::unique_ptr<UserPlaces> places;
  std::unique_ptr<tools::mcp::Servers> servers;
};

// Also of servers that are required it is only said that they did not start.
void need_none(agent::AgentSpec& agent) {
  for (agent::McpServerSpec& server : agent.mcp_servers) {
    server.is_required = false;
  }
}

Result<void> choose_server(agent::AgentSpec& agent, const std::string& name) {
  const auto chosen = std::ranges::find(agent.mcp_servers, name, &agent::McpServerSpec::name);
  if (chosen == agent.mcp_servers.end()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the agent has no MCP server `{}`", agent::one_line(name, 60)),
                       "`errand mcp list AGENT` shows those that it has");
  }
  agent.mcp_servers = {agent::McpServerSpec(*chosen)};
  return {};
}

// Commands of hooks and tools are not run: only what servers need is opened.
void leave_out_the_rest(agent::AgentSpec& agent) {
  agent.hooks = {};
  agent.guardrails.checks.clear();
}

// What servers are given goes where the user has said, as in a run.
Result<void> check_keys(const agent::AgentSpec& agent,
                        const Parsed& parsed,
                        const agent::Redactor& redactor,
                        const Context& context) {
  auto settings = load_settings(context.environment, context.cwd);
  if (!settings) {
    return agent::fail(std::move(settings.error().front()));
  }
  TRY_ASSIGN(providers::KeyHosts hosts, key_hosts_of(parsed, context.environment));
  TRY(allow_settings(settings->user, hosts));
  KeyRequests keys(std::move(hosts), agent);
  keys.add_programs(agent, context.environment);
  auto refused = settle(keys.take(),
                        {.redactor = redactor,
                         .cancellation = context.cancellation,
                         .user_config = settings->user.file,
                         .color = context.color_err});
  if (!refused.empty()) {
    return agent::fail(std::move(refused.front()));
  }
  return {};
}

Result<std::unique_ptr<Started>> start(const Parsed& parsed,
                                       agent::AgentSpec agent,
                                       std::unique_ptr<tools::Supervisor> supervisor,
                                       Context& context) {
  auto started = std::make_unique<Started>(Started{.agent = std::move(agent),
                                                   .supervisor = std::move(supervisor),
                                                   .signals = nullptr,
                                                   .redactor = context.redactor,
                                                   .tool_environment = nullptr,
                                                   .places = nullptr,
                                                   .servers = nullptr});
  TRY_ASSIGN(started->signals, SignalWatcher::start(context.cancellation));
  for (const agent::McpServerSpec& server : started->agent.mcp_servers) {
    started->redactor.add(server.env);
  }
  leave_out_the_rest(started->agent);
  TRY(check_keys(started->agent, parsed, started->redactor, context));
  TRY_ASSIGN(started->tool_environment,
             ToolEnvironment::open(started->agent,
                                   {.folder_id = agent::new_run_id()},
                                   context,
                                   *started->supervisor,
                                   started->redactor));
  agent::Environment environment = context.environment;
  for (const std::string& name : key_variables_of(started->agent, context.environment)) {
    environment.erase(name);
  }
  TRY_ASSIGN(started->places,
             UserPlaces::open(
                 started->agent, std::move(environment), context, *started->tool_environment, {}));
  TRY_ASSIGN(started->servers,
             start_mcp_servers(started->agent,
                               *started->places,
                               {.cwd = context.cwd,
                                .clock = started->tool_environment->clock(),
                                .seed = std::random_device{}(),
                                .stop = context.cancellation.stop()}));
  for (std::string& sentence : started->places->left_out(started->agent)) {
    context.err << render_warning(
                       {.message = std::move(sentence)}, context.color_err, context.redactor)
                << "\n\n";
  }
  for (const agent::Warning& warning : started->servers->warnings()) {
    context.err << render_warning({.message = warning.message, .help = {}},
                                  context.color_err,
                                  context.redactor)
                << "\n\n";
  }
  return started;
}

Result<agent::AgentSpec> agent_with_servers(const std::string& file, Context& context) {
  TRY_ASSIGN(agent::AgentSpec agent, load_by_hand(file, context));
  if (agent.mcp_servers.empty()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the agent {} has no MCP servers", agent::one_line(file)),
                       "it names them under `mcp_servers`");
  }
  return agent;
}

Json json_of(const tools::mcp::ConnectedServer& server) {
  return {{"name", server.name},
          {"revision", server.revision},
          {"server", server.server},
          {"tools", server.tools},
          {"hidden", server.hidden}};
}

void print_servers(const std::vector<tools::mcp::ConnectedServer>& servers, Context& context) {
  for (const tools::mcp::ConnectedServer& server : servers) {
    context.out << fmt::format(
        "{:<16}  {}, {}, {} tool{}{}\n",
        agent::one_line(server.name, 60),
        server.server.empty() ? "nameless" : server.server,
        server.revision,
        server.tools.size(),
        server.tools.size() == 1 ? "" : "s",
        server.hidden.empty() ? "" : fmt::format(", {} left out", server.hidden.size()));
  }
}

void print_tools(std::span<const agent::ToolInfo> tools, Context& context) {
  constexpr std::size_t k_indent = 4;
  for (const agent::ToolInfo& tool : tools) {
    context.out << fmt::format(
        "{}\n    {}\n",
        tool.name,
        wrapped(
            context.redactor.apply(agent::one_line(tool.description)), 80 - k_indent, k_indent));
  }
}

Result<std::unique_ptr<tools::Runner>> runner_of(Started& started) {
  tools::RunnerOptions options =
      started.tool_environment->runner_options(key_variables_of(started.agent, {}));
  options.seed = std::random_device{}();
  return tools::Runner::create(started.servers->tools(), std::move(options));
}

// A signal while they start is the ending, whatever they made of it.
Result<int> or_signal(const Result<int>& ended, const Context& context) {
  const int signal = context.cancellation.signal_number();
  return signal == 0 || ended ? ended : Result<int>(128 + signal);
}

}  // namespace

Result<int> command_mcp_list(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(agent::AgentSpec agent, agent_with_servers(parsed.positionals.front(), context));
  const std::vector<agent::McpServerSpec> wanted = agent.mcp_servers;
  need_none(agent);
  auto started = start(parsed, std::move(agent), std::move(supervisor), context);
  if (!started) {
    return or_signal(agent::fail(std::move(started).error()), context);
  }
  const auto connected = (*started)->servers->connected();
  if (parsed.value("--output") == "json") {
    Json json = {{"schema", "errand.mcp/1"}, {"servers", Json::array()}};
    std::ranges::transform(connected, std::back_inserter(json["servers"]), json_of);
    context.out << context.redactor.dump(json) << "\n";
  } else {
    print_servers(connected, context);
  }
  for (const agent::McpServerSpec& server : wanted) {
    const bool is_there =
        std::ranges::find(connected, server.name, &tools::mcp::ConnectedServer::name) !=
        connected.end();
    if (!is_there && server.is_required) {
      return agent::fail(Code::mcp_connection,
                         fmt::format("the MCP server `{}` is required, and did not start",
                                     agent::one_line(server.name, 60)));
    }
  }
  return 0;
}

Result<int> command_mcp_tools(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(agent::AgentSpec agent, agent_with_servers(parsed.positionals.front(), context));
  if (parsed.positionals.size() > 1) {
    TRY(choose_server(agent, parsed.positionals[1]));
  }
  auto started = start(parsed, std::move(agent), std::move(supervisor), context);
  if (!started) {
    return or_signal(agent::fail(std::move(started).error()), context);
  }
  TRY_ASSIGN(const auto toolbox, runner_of(**started));
  if (parsed.value("--output") == "json") {
    write_tools_json(toolbox->tools(), context);
  } else {
    print_tools(toolbox->tools(), context);
  }
  return 0;
}

Result<int> command_mcp_call(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(agent::AgentSpec agent, agent_with_servers(parsed.positionals.front(), context));
  unblock_signals();  // what is read may be long in coming
  TRY_ASSIGN(const std::string arguments,
             arguments_by_hand(parsed.positionals.size() > 2 ? parsed.positionals[2] : "{}"));
  auto started = start(parsed, std::move(agent), std::move(supervisor), context);
  if (!started) {
    return or_signal(agent::fail(std::move(started).error()), context);
  }
  TRY_ASSIGN(const auto toolbox, runner_of(**started));
  return call_by_hand(*toolbox,
                      {.id = "call_1", .name = parsed.positionals[1], .arguments = arguments},
                      (*started)->tool_environment->folder(),
                      context);
}

}  // namespace cli
