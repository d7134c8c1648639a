// `errand mcp`: the MCP servers of an agent, looked at and tried by hand.
#include "agent/clock.h"
#include "agent/id.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "agent/written_out.h"
#include "cli/agents_at_work.h"
#include "cli/commands/commands.h"
#include "cli/flow_files.h"
#include "cli/help.h"
#include "cli/key_hosts.h"
#include "cli/known_names.h"
#include "cli/mcp_lock.h"
#include "cli/mcp_servers.h"
#include "cli/open_sandbox.h"
#include "cli/permissions.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "cli/tool_by_hand.h"
#include "cli/tool_environment.h"
#include "cli/user_places.h"
#include "tools/process/supervisor.h"
#include "tools/runner/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
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
  std::shared_ptr<const FlowTree> tree;
  agent::AgentSpec agent;
  std::unique_ptr<tools::Supervisor> supervisor;
  std::unique_ptr<SignalWatcher> signals;
  agent::Redactor redactor;
  std::unique_ptr<ToolEnvironment> tool_environment;
  std::unique_ptr<UserPlaces> places;
  std::unique_ptr<tools::mcp::Servers> servers;
  ReadLock lock = {};
};

// Also of servers that are required it is only said that they did not start.
void need_none(agent::AgentSpec& agent) {
  for (agent::McpServerSpec& server : agent.mcp_servers) {
    server.is_required = false;
  }
}

Result<void> choose_server(agent::AgentSpec& agent, const std::string& name) {
  TRY_ASSIGN(agent::McpServerSpec chosen, find_mcp_server(agent, name));
  agent.mcp_servers = {std::move(chosen)};
  return {};
}

// Commands of hooks and tools are not run: only what servers need is opened.
void leave_out_the_rest(agent::AgentSpec& agent) {
  agent.hooks = {};
  agent.guardrails.checks.clear();
}

// What servers are given goes where the user has said, as in a run.
Result<providers::KeyHosts> check_keys(const agent::AgentSpec& agent,
                                       const OtherAgents& others,
                                       const Parsed& parsed,
                                       const agent::Redactor& redactor,
                                       const Context& context) {
  auto settings = load_settings(context.environment, context.cwd);
  if (!settings) {
    return agent::fail(std::move(settings.error().front()));
  }
  TRY_ASSIGN(providers::KeyHosts hosts, key_hosts_of(parsed, context.environment));
  TRY(allow_settings(settings->user, hosts));
  KeyRequests keys(std::move(hosts), agent, Company::of(others));
  keys.add_programs(context.environment);
  keys.add_servers();
  auto refused = settle(keys.take(),
                        {.redactor = redactor,
                         .cancellation = context.cancellation,
                         .user_config = settings->user.file,
                         .color = context.color_err});
  if (!refused.empty()) {
    return agent::fail(std::move(refused.front()));
  }
  return keys.hosts();
}

// An agent, and the files that it obeys with all that it has.
struct Whole {
  std::shared_ptr<const FlowTree> tree;  // of all that work where it does
  agent::AgentSpec agent;
  std::vector<std::filesystem::path> obeyed;
};

Result<std::unique_ptr<Started>> start(const Parsed& parsed,
                                       Whole whole,
                                       std::unique_ptr<tools::Supervisor> supervisor,
                                       Context& context) {
  auto started = std::make_unique<Started>(Started{.tree = std::move(whole.tree),
                                                   .agent = std::move(whole.agent),
                                                   .supervisor = std::move(supervisor),
                                                   .signals = nullptr,
                                                   .redactor = context.redactor,
                                                   .tool_environment = nullptr,
                                                   .places = nullptr,
                                                   .servers = nullptr});
  TRY_ASSIGN(started->signals, SignalWatcher::start(context.cancellation));
  leave_out_the_rest(started->agent);
  started->lock = read_mcp_lock(started->agent);
  const OtherAgents others = agents_at_work(*started->tree);
  TRY_ASSIGN(providers::KeyHosts hosts,
             check_keys(started->agent, others, parsed, started->redactor, context));
  TRY_ASSIGN(started->tool_environment,
             ToolEnvironment::open(started->agent,
                                   {.folder_id = agent::new_run_id(),
                                    .is_written = written_by(started->agent, others, context),
                                    .obeyed = std::move(whole.obeyed)},
                                   context,
                                   *started->supervisor,
                                   started->redactor));
  agent::Environment environment = context.environment;
  for (const std::string& name : key_variables_of(started->agent, context.environment)) {
    environment.erase(name);
  }
  TRY_ASSIGN(
      started->places,
      UserPlaces::open(
          started->agent, std::move(environment), context, *started->tool_environment, {}, others));
  auto servers = start_mcp_servers(started->agent,
                                   *started->places,
                                   {.cwd = context.cwd,
                                    .clock = started->tool_environment->clock(),
                                    .http = started->tool_environment->http(),
                                    .seed = std::random_device{}(),
                                    .stop = context.cancellation.stop(),
                                    .questioner = started->tool_environment->questioner(),
                                    .redactor = started->redactor,
                                    .environment = context.environment,
                                    .key_hosts = std::move(hosts)});
  if (!servers) {
    agent::Error why =
        agent::with_leftovers(std::move(servers).error(), started->places->tidy_up());
    if (why.code == Code::run_cancelled) {  // which nobody else says
      context.err << render_warning(
                         {.message = why.message, .help = {}}, context.color_err, context.redactor)
                  << "\n";
    }
    return agent::fail(std::move(why));
  }
  started->servers = *std::move(servers);
  for (agent::Warning& warning : started->places->take_warnings()) {
    context.err << render_warning(
                       {.message = std::move(warning.message), .help = std::move(warning.help)},
                       context.color_err,
                       context.redactor)
                << "\n";
  }
  for (const tools::mcp::CheckedServer& missing : started->servers->not_started()) {
    const agent::Error& why = *missing.checks.front().error;
    context.err << render_warning({.message = why.message, .help = why.help},
                                  context.color_err,
                                  context.redactor)
                << "\n";
  }
  for (const agent::Warning& warning : started->servers->warnings()) {
    if (warning.kind != tools::mcp::k_of_missing_server) {
      context.err << render_warning({.message = warning.message, .help = {}},
                                    context.color_err,
                                    context.redactor)
                  << "\n";
    }
  }
  return started;
}

Result<void> check_has_servers(const agent::AgentSpec& agent, const std::string& file) {
  if (!agent.mcp_servers.empty()) {
    return {};
  }
  return agent::fail(Code::cli_usage,
                     fmt::format("the agent {} has no MCP servers", agent::one_line(file)),
                     where_servers_are(agent));
}

// What is said of an agent's servers is not said of its sub-agents'.
void tell_of_others(const agent::AgentSpec& agent, const Context& context) {
  if (const std::string others = names_of_written_out(agent); !others.empty()) {
    context.err << render_warning(
                       {.message = "sub-agents in its file have MCP servers of their own, which "
                                   "are not looked at here",
                        .help = "name one as the agent: " + agent::one_line(others)},
                       context.color_err,
                       context.redactor)
                << "\n";
  }
}

Result<Whole> agent_with_servers(const std::string& file, Context& context) {
  TRY_ASSIGN(TeamByHand team, load_team_by_hand(file, context));
  TRY(check_has_servers(team.agent, file));
  hide_server_secrets(team.agent, context.environment, context.redactor);
  auto obeyed = obeyed_by_hand(team.agent, context);
  return Whole{
      .tree = std::move(team.tree), .agent = std::move(team.agent), .obeyed = std::move(obeyed)};
}

Json json_of(const tools::mcp::Prompt& prompt) {
  Json arguments = Json::array();
  for (const tools::mcp::PromptArgument& argument : prompt.arguments) {
    arguments.push_back({{"name", argument.name}, {"required", argument.is_required}});
  }
  return {{"name", prompt.name},
          {"description", prompt.description},
          {"arguments", std::move(arguments)}};
}

Json json_of(const tools::mcp::ConnectedServer& server, const tools::mcp::OtherOffers& others) {
  const agent::McpConnection& connection = server.connection;
  Json prompts = Json::array();
  std::ranges::transform(others.prompts, std::back_inserter(prompts), [](const auto& prompt) {
    return json_of(prompt);
  });
  return {{"name", connection.name},
          {"revision", connection.revision},
          {"server", connection.server},
          {"tools", connection.tools},
          {"hidden", server.hidden},
          {"resources", others.resources},
          {"templates", others.templates},
          {"prompts", std::move(prompts)}};
}

// A line on stdout, without what servers are given and nobody is to read: they may say it of
// themselves.
void print(std::string_view line, Context& context) {
  context.out << context.redactor.apply(line) << "\n";
}

// A server's words that a person is to judge by.
std::string judged(std::string_view words, std::size_t most = 300) {
  return agent::written_out_line(words, most);
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print_prompt(const std::string& server, const tools::mcp::Prompt& prompt, Context& context) {
  std::string arguments;
  for (const tools::mcp::PromptArgument& one : prompt.arguments) {
    arguments +=
        (arguments.empty() ? "" : ", ") + judged(one.name, 60) + (one.is_required ? "" : "?");
  }
  print(fmt::format("    {}/{}{}{}{}",
                    agent::one_line(server, 60),
                    judged(prompt.name, 100),
                    arguments.empty() ? "" : " (" + arguments + ")",
                    prompt.description.empty() ? "" : ": ",
                    judged(prompt.description)),
        context);
}

// A prompt as `--use` names it, with what it takes; `?` stands behind what may be left out.
void print_server(const tools::mcp::ConnectedServer& connected,
                  const tools::mcp::OtherOffers& others,
                  Context& context) {
  const agent::McpConnection& server = connected.connection;
  std::string line = fmt::format("{:<16}  {}, {}, {}",
                                 agent::one_line(server.name, 60),
                                 server.server.empty() ? "nameless" : judged(server.server),
                                 server.revision,
                                 counted(server.tools.size(), "tool"));
  if (!connected.hidden.empty()) {
    line += fmt::format(", {} left out", connected.hidden.size());
  }
  for (const auto& [count, what] : {std::pair{others.resources.size(), "resource"},
                                    std::pair{others.templates.size(), "template"},
                                    std::pair{others.prompts.size(), "prompt"}}) {
    line += count == 0 ? "" : ", " + counted(count, what);
  }
  print(line, context);
  for (const tools::mcp::Prompt& prompt : others.prompts) {
    print_prompt(server.name, prompt, context);
  }
}

void warn_of(const tools::mcp::OtherOffers& others, Context& context) {
  for (const agent::Error& error : others.errors) {
    context.err << render_warning({.message = error.message}, context.color_err, context.redactor)
                << "\n";
  }
}

void print_tools(std::span<const agent::ToolInfo> tools, Context& context) {
  constexpr std::size_t k_indent = 4;
  for (const agent::ToolInfo& tool : tools) {
    print(tool.name, context);
    const std::string description = agent::one_line(context.redactor.apply(tool.description));
    print(fmt::format("    {}", wrapped(description, 80 - k_indent, k_indent)), context);
  }
}

Result<std::unique_ptr<tools::Runner>> runner_of(Started& started) {
  tools::RunnerOptions options =
      started.tool_environment->runner_options(key_variables_of(started.agent, {}));
  options.seed = std::random_device{}();
  options.tidy_up = [&started] { return tidy_up(started.servers.get(), started.places.get()); };
  return tools::Runner::create(started.servers->tools(), std::move(options));
}

// Ends those in the sandbox, and says what they have left: what errand writes from now on is not
// taken for theirs. sandbox.violation where something stays that git or errand would obey,
// os.failed where nobody could look.
Result<void> end_servers(Started& started, Context& context) {
  const auto all_left = tidy_up(started.servers.get(), started.places.get());
  for (const agent::Leftover& left : all_left) {
    context.err << render_warning(
                       {.message = left.sentence, .help = {}}, context.color_err, context.redactor)
                << "\n";
  }
  const agent::Leftover* const ends = agent::what_ends(all_left);
  return ends == nullptr ? Result<void>() : agent::fail(agent::error_of(*ends));
}

// As check_mcp_lock(). Where it does not fit, it is said what those in the sandbox have left.
Result<void> check_lock(Started& started,
                        std::span<const std::string> servers_of_agent,
                        Context& context) {
  auto checked = check_mcp_lock(
      started.agent, started.lock, *started.servers, servers_of_agent, started.redactor);
  if (!checked) {
    TRY(end_servers(started, context));
  }
  return checked;
}

// What is different from what `lock` has; without one, nothing.
std::vector<std::string> changes_since(const std::optional<tools::mcp::ToolLock>& lock,
                                       const tools::mcp::ToolLock& now,
                                       const agent::AgentSpec& agent) {
  return lock ? tools::mcp::differences(*lock, now, names_of_servers(agent))
              : std::vector<std::string>();
}

// How much is different from the lock that is there, which may be none.
Result<std::size_t> check_lock(const agent::AgentSpec& agent,
                               const Result<std::optional<tools::mcp::ToolLock>>& lock,
                               const tools::mcp::ToolLock& now,
                               Context& context) {
  if (!lock) {
    return agent::fail(agent::Error(lock.error()));
  }
  if (!*lock) {
    return agent::fail(Code::config_invalid,
                       fmt::format("there is no {}", shown_lock_file(agent)),
                       "`errand mcp lock AGENT` writes it");
  }
  const auto found = changes_since(*lock, now, agent);
  if (!found.empty()) {
    context.err << fmt::format("{}: {} difference{}\n",
                               shown_lock_file(agent),
                               found.size(),
                               found.size() == 1 ? "" : "s");
  }
  for (const std::string& sentence : found) {
    print(sentence, context);
  }
  return found.size();
}

Result<void> accept_tools(const agent::AgentSpec& agent,
                          const Result<std::optional<tools::mcp::ToolLock>>& lock,
                          const tools::mcp::ToolLock& now,
                          Context& context) {
  TRY(write_mcp_lock(agent, now));
  if (lock) {
    for (const std::string& sentence : changes_since(*lock, now, agent)) {
      print(sentence, context);
    }
  } else {
    context.err << render_warning({.message = "not compared with the lock that was there: " +
                                              lock.error().message,
                                   .help = {}},
                                  context.color_err,
                                  context.redactor)
                << "\n";
  }
  std::size_t tools = 0;
  for (const auto& [name, of_server] : now.servers) {
    tools += of_server.size();
  }
  context.err << fmt::format("{} is written: {} tool{} of {} server{}\n",
                             shown_lock_file(agent),
                             tools,
                             tools == 1 ? "" : "s",
                             now.servers.size(),
                             now.servers.size() == 1 ? "" : "s");
  return {};
}

Result<int> accept_all(std::span<const agent::AgentSpec> agents,
                       std::span<const Result<std::optional<tools::mcp::ToolLock>>> before,
                       std::span<const tools::mcp::ToolLock> now,
                       Context& context) {
  for (std::size_t at = 0; at < agents.size(); ++at) {
    TRY(accept_tools(agents[at], before[at], now[at], context));
  }
  return 0;
}

// Of each what is different; the error is of all of them, or of the first that has no lock.
Result<int> check_locks(std::span<const agent::AgentSpec> agents,
                        std::span<const Result<std::optional<tools::mcp::ToolLock>>> before,
                        std::span<const tools::mcp::ToolLock> now,
                        Context& context) {
  std::vector<std::string> others;
  std::optional<agent::Error> none;
  for (std::size_t at = 0; at < agents.size(); ++at) {
    const auto found = check_lock(agents[at], before[at], now[at], context);
    if (!found && !none) {
      none = found.error();
    }
    if (found && *found > 0) {
      others.push_back(shown_lock_file(agents[at]));
    }
  }
  if (none) {
    return agent::fail(*std::move(none));
  }
  return others.empty() ? Result<int>(0)
                        : agent::fail(Code::config_invalid,
                                      fmt::format("the MCP tools are others than in {}",
                                                  fmt::join(others, " and ")),
                                      "`errand mcp lock AGENT` accepts the tools as they are now");
}

// What its servers say now.
Result<tools::mcp::ToolLock> tools_now(const Parsed& parsed,
                                       Whole whole,
                                       std::unique_ptr<tools::Supervisor> supervisor,
                                       Context& context) {
  if (whole.agent.mcp_servers.empty()) {
    return tools::mcp::ToolLock{};
  }
  for (agent::McpServerSpec& server : whole.agent.mcp_servers) {
    server.is_required = true;  // a lock is of all that the agent may have
  }
  hide_server_secrets(whole.agent, context.environment, context.redactor);
  auto started = start(parsed, std::move(whole), std::move(supervisor), context);
  if (!started) {
    return agent::fail(std::move(started).error());
  }
  tools::mcp::ToolLock now = (*started)->servers->lock((*started)->redactor);
  TRY(end_servers(**started, context));
  return now;
}

std::vector<std::string> names_of_missing(const tools::mcp::Servers& servers) {
  std::vector<std::string> names;
  std::ranges::transform(
      servers.not_started(), std::back_inserter(names), &tools::mcp::CheckedServer::name);
  return names;
}

// With the code of what kept the first one from starting, which has been said already.
Result<int> all_required_are_there(std::span<const agent::McpServerSpec> wanted,
                                   const tools::mcp::Servers& servers) {
  for (const tools::mcp::CheckedServer& missing : servers.not_started()) {
    const auto spec = std::ranges::find(wanted, missing.name, &agent::McpServerSpec::name);
    if (spec != wanted.end() && spec->is_required) {
      agent::Error error = *missing.checks.front().error;
      error.message = fmt::format("the MCP server `{}` is required, and did not start",
                                  agent::one_line(missing.name, 60));
      return agent::fail(std::move(error));
    }
  }
  return 0;
}

// ---- errand mcp test ----

Json json_of(const tools::mcp::ServerCheck& check) {
  Json json = {{"name", check.name}, {"status", check.error ? "fail" : "ok"}};
  if (!check.found.empty()) {
    json["found"] = check.found;
  }
  if (check.error) {
    json["error"] = {{"code", agent::row(check.error->code).name},
                     {"message", check.error->message},
                     {"help", check.error->help}};
  }
  return json;
}

// Also of servers that the lock has and the agent has not.
std::vector<tools::mcp::ServerCheck> lock_checks(const Started& started,
                                                 std::span<const std::string> servers_of_agent) {
  const auto wrong = [](agent::Error error) {
    return tools::mcp::ServerCheck{.name = "lock", .found = {}, .error = std::move(error)};
  };
  const ReadLock& lock = started.lock;
  if (!lock) {
    return {wrong(lock.error())};
  }
  if (!*lock) {
    return {};
  }
  std::vector<tools::mcp::ServerCheck> checks;
  for (std::string& sentence :
       tools::mcp::differences(**lock, started.servers->lock(started.redactor), servers_of_agent)) {
    checks.push_back(
        wrong({.code = Code::config_invalid, .message = std::move(sentence), .help = {}}));
  }
  if (checks.empty()) {
    checks.push_back({.name = "lock",
                      .found = started.servers->not_started().empty()
                                   ? "the tools are those of the lock"
                                   : "the tools of the servers that started are those of the lock",
                      .error = {}});
  }
  return checks;
}

// Rules of the agent that name tools which are not there.
std::vector<tools::mcp::ServerCheck> rule_checks(const Started& started) {
  std::vector<tools::mcp::ServerCheck> checks;
  const auto rules = rules_of(started.agent.permissions);
  const auto names = names_in_rules(agents_at_work(*started.tree));
  auto idle = started.servers->idle_rules(rules);
  std::ranges::move(idle_patterns(started.servers.get(), rules, names), std::back_inserter(idle));
  for (agent::Warning& warning : idle) {
    checks.push_back(
        {.name = "rule",
         .found = {},
         .error = agent::Error{
             .code = Code::config_invalid, .message = std::move(warning.message), .help = {}}});
  }
  return checks;
}

// In the order in which they were looked at; how each ended is the last of a server's.
std::vector<tools::mcp::CheckedServer> check_all(Started& started,
                                                 std::span<const std::string> servers_of_agent,
                                                 const std::stop_token& stop) {
  auto servers = started.servers->check(stop);
  auto locked = lock_checks(started, servers_of_agent);
  auto rules = rule_checks(started);
  for (tools::mcp::CheckedServer& ended : started.servers->end_all()) {
    const auto server = std::ranges::find(servers, ended.name, &tools::mcp::CheckedServer::name);
    std::ranges::move(ended.checks, std::back_inserter(server->checks));
  }
  if (!locked.empty()) {
    servers.push_back(
        {.name = std::filesystem::path(agent::tool_lock_file(started.agent)).filename(),
         .checks = std::move(locked)});
  }
  if (!rules.empty()) {
    servers.push_back({.name = "permissions", .checks = std::move(rules)});
  }
  return servers;
}

void print_checks(const std::vector<tools::mcp::CheckedServer>& servers, Context& context) {
  for (const auto& [name, checks] : servers) {
    for (const tools::mcp::ServerCheck& check : checks) {
      const std::string& about = check.error ? check.error->message : check.found;
      print(fmt::format("{} {} {}{}{}",
                        check.error ? "FAIL" : "ok  ",
                        agent::one_line(name, 60),
                        check.name,
                        about.empty() ? "" : ": ",
                        agent::one_line(about)),
            context);
      if (check.error && !check.error->help.empty()) {
        print(fmt::format("     help: {}", agent::one_line(check.error->help)), context);
      }
    }
  }
}

// A signal while they start is the ending, whatever they made of it.
Result<int> or_signal(const Result<int>& ended, const Context& context) {
  const int signal = context.cancellation.signal_number();
  return signal == 0 || ended ? ended : Result<int>(128 + signal);
}

}  // namespace

Result<int> command_mcp_list(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(Whole whole, agent_with_servers(parsed.positionals.front(), context));
  const std::vector<agent::McpServerSpec> wanted = whole.agent.mcp_servers;
  tell_of_others(whole.agent, context);
  need_none(whole.agent);
  auto started = start(parsed, std::move(whole), std::move(supervisor), context);
  if (!started) {
    return or_signal(agent::fail(std::move(started).error()), context);
  }
  const auto connected = (*started)->servers->connected();
  const auto others = (*started)->servers->other_offers(context.cancellation.stop());
  const int signal = context.cancellation.signal_number();
  if (signal == 0) {
    std::ranges::for_each(others, [&](const auto& one) { warn_of(one, context); });
  }
  TRY(end_servers(**started, context));
  if (signal != 0) {
    return 128 + signal;  // what was not heard of is not known to be none
  }
  if (parsed.value("--output") == "json") {
    Json json = {{"schema", "errand.mcp/1"}, {"servers", Json::array()}};
    for (std::size_t at = 0; at < connected.size(); ++at) {
      json["servers"].push_back(json_of(connected[at], others[at]));
    }
    json["missing_servers"] = names_of_missing(*(*started)->servers);
    context.out << context.redactor.dump(json) << "\n";
  } else {
    for (std::size_t at = 0; at < connected.size(); ++at) {
      print_server(connected[at], others[at], context);
    }
    for (const std::string& name : names_of_missing(*(*started)->servers)) {
      print(fmt::format("{:<16}  did not start", agent::one_line(name, 60)), context);
    }
  }
  return all_required_are_there(wanted, *(*started)->servers);
}

Result<int> command_mcp_tools(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(Whole whole, agent_with_servers(parsed.positionals.front(), context));
  const std::vector<std::string> servers = names_of_servers(whole.agent);
  tell_of_others(whole.agent, context);
  if (parsed.positionals.size() > 1) {
    TRY(choose_server(whole.agent, parsed.positionals[1]));
    whole.agent.mcp_servers.front().is_required = true;  // it is what is asked about
  }
  auto started = start(parsed, std::move(whole), std::move(supervisor), context);
  if (!started) {
    return or_signal(agent::fail(std::move(started).error()), context);
  }
  TRY(check_lock(**started, servers, context));
  TRY_ASSIGN(const auto toolbox, runner_of(**started));
  if (parsed.value("--output") == "json") {
    Json json = json_of_tools(toolbox->tools());
    json["missing_servers"] = names_of_missing(*(*started)->servers);
    context.out << context.redactor.dump(json) << "\n";
  } else {
    print_tools(toolbox->tools(), context);
  }
  TRY(end_servers(**started, context));
  return 0;
}

Result<int> command_mcp_test(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(Whole whole, agent_with_servers(parsed.positionals.front(), context));
  const std::vector<std::string> names = names_of_servers(whole.agent);
  if (parsed.positionals.size() > 1) {
    TRY(choose_server(whole.agent, parsed.positionals[1]));
  }
  tell_of_others(whole.agent, context);
  need_none(whole.agent);
  auto started = start(parsed, std::move(whole), std::move(supervisor), context);
  if (!started) {
    return or_signal(agent::fail(std::move(started).error()), context);
  }
  const auto servers = check_all(**started, names, context.cancellation.stop());
  TRY(end_servers(**started, context));
  if (const int signal = context.cancellation.signal_number(); signal != 0) {
    return 128 + signal;
  }
  std::vector<const agent::Error*> errors;
  Json json = {{"schema", "errand.mcp_test/1"}, {"servers", Json::array()}};
  for (const auto& [name, checks] : servers) {
    Json& one = json["servers"].emplace_back(Json{{"name", name}, {"checks", Json::array()}});
    for (const tools::mcp::ServerCheck& check : checks) {
      one["checks"].push_back(json_of(check));
      if (check.error) {
        errors.push_back(&*check.error);
      }
    }
  }
  if (parsed.value("--output") == "json") {
    context.out << context.redactor.dump(json) << "\n";
  } else {
    print_checks(servers, context);
  }
  return errors.empty() ? 0 : agent::exit_code(*errors.front());
}

Result<int> command_mcp_call(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(Whole whole, agent_with_servers(parsed.positionals.front(), context));
  const std::string& tool = parsed.positionals[1];
  for (agent::McpServerSpec& server : whole.agent.mcp_servers) {
    const bool is_named = tool.starts_with(fmt::format("mcp__{}__", server.name));
    server.is_required = server.is_required || is_named;  // there is no going on without it
  }
  unblock_signals();  // what is read may be long in coming
  TRY_ASSIGN(const std::string arguments,
             arguments_by_hand(parsed.positionals.size() > 2 ? parsed.positionals[2] : "{}"));
  auto started = start(parsed, std::move(whole), std::move(supervisor), context);
  if (!started) {
    return or_signal(agent::fail(std::move(started).error()), context);
  }
  TRY(check_lock(**started, names_of_servers((*started)->agent), context));
  TRY_ASSIGN(const auto toolbox, runner_of(**started));
  return call_by_hand(*toolbox,
                      {.id = "call_1", .name = tool, .arguments = arguments},
                      (*started)->tool_environment->folder(),
                      parsed.value("--output") == "json",
                      context);
}

Result<int> command_mcp_lock(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(TeamByHand team, load_team_by_hand(parsed.positionals.front(), context));
  const std::shared_ptr<const FlowTree> tree = std::move(team.tree);
  const std::string below = team.agent.file + "#";
  std::vector<agent::AgentSpec> agents{std::move(team.agent)};
  for (const agent::AgentSpec* one : agents_at_work(*tree)) {
    if (one->file.starts_with(below) && !one->mcp_servers.empty()) {
      agents.push_back(*one);
    }
  }
  if (agents.size() == 1) {
    TRY(check_has_servers(agents.front(), parsed.positionals.front()));
  }
  std::vector<std::unique_ptr<tools::Supervisor>> supervisors(agents.size());
  for (auto& supervisor : supervisors) {
    TRY_ASSIGN(supervisor, tools::Supervisor::start());  // before any thread
  }
  std::vector<Result<std::optional<tools::mcp::ToolLock>>> before;  // any of their servers has run
  std::vector<std::filesystem::path> obeyed;
  for (const agent::AgentSpec& agent : agents) {
    before.push_back(read_mcp_lock(agent));
    std::ranges::move(obeyed_by_hand(agent, context), std::back_inserter(obeyed));
  }
  std::vector<tools::mcp::ToolLock> now;
  for (std::size_t at = 0; at < agents.size(); ++at) {
    auto found = tools_now(parsed,
                           Whole{.tree = tree, .agent = agents[at], .obeyed = obeyed},
                           std::move(supervisors[at]),
                           context);
    if (!found) {
      return or_signal(agent::fail(std::move(found).error()), context);
    }
    now.push_back(*std::move(found));
  }
  return parsed.has("--check") ? check_locks(agents, before, now, context)
                               : accept_all(agents, before, now, context);
}

}  // namespace cli
