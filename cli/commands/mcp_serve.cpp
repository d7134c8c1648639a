// `errand mcp serve`: agents as tools of other programs.
#include "agent/duration.h"
#include "agent/environment.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/flow_files.h"
#include "cli/key_hosts.h"
#include "cli/permissions.h"
#include "cli/plan.h"
#include "cli/resources.h"
#include "cli/serve/agent_tools.h"
#include "cli/serve/call_pool.h"
#include "cli/serve/http_listener.h"
#include "cli/serve/http_server.h"
#include "cli/serve/sandbox_tools.h"
#include "cli/serve/serve_log.h"
#include "cli/serve/served_tool.h"
#include "cli/serve/stdio_server.h"
#include "cli/signals.h"
#include "cli/start_run.h"
#include "cli/terminal/render_error.h"
#include "cli/tool_by_hand.h"
#include "providers/http/http_client.h"
#include "providers/resilience/model_states.h"
#include "tools/process/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Result;

constexpr std::size_t k_descriptors_of_a_run = 16;

Result<std::size_t> calls_at_once(const Parsed& parsed) {
  constexpr std::int64_t k_most = 64;
  const auto text = parsed.value("--parallel");
  const std::int64_t calls = text ? agent::parse_count(*text).value_or(1) : 8;
  if (calls > k_most) {
    return agent::fail(Code::cli_usage,
                       fmt::format("`--parallel {}` is more than {}", *text, k_most),
                       "a whole number from 1 to 64");
  }
  return static_cast<std::size_t>(calls);
}

// Every agent, or all mistakes of the first that has some.
std::expected<std::vector<Plan>, std::vector<Error>> prepare_all(const Parsed& parsed,
                                                                 const Context& context,
                                                                 agent::Redactor& redactor) {
  std::vector<Plan> plans;
  for (const std::string& file : parsed.positionals) {
    auto plan = prepare_agent(parsed, {.agent = {.file = file}}, context);
    if (!plan) {
      return std::unexpected(std::move(plan).error());
    }
    if (auto known = check_rules(plan->agent, parsed); !known) {
      return std::unexpected(std::vector<Error>{std::move(known).error()});
    }
    hide_secrets(*plan, context.environment, redactor);
    if (auto refused = refusals(std::exchange(plan->key_requests, {}), redactor);
        !refused.empty()) {
      return std::unexpected(std::move(refused));
    }
    plans.push_back(*std::move(plan));
  }
  return plans;
}

int tell_all(const std::vector<Error>& errors,
             const Context& context,
             const agent::Redactor& redactor) {
  for (const Error& error : errors) {
    context.err << render(error, context.color_err, redactor) << std::endl;
  }
  return agent::exit_code(errors.front());
}

// nullopt: standard input and output.
Result<std::optional<HttpPlace>> place_of(const Parsed& parsed) {
  const auto text = parsed.value("--http");
  if (!text) {
    return std::nullopt;
  }
  TRY_ASSIGN(HttpPlace place, http_place(*text));
  return place;
}

// Empty: nobody is asked for one.
Result<std::string> token_of(const Parsed& parsed, const agent::Environment& environment) {
  constexpr std::size_t k_least = 16;
  const auto name = parsed.value("--token-env");
  if (!name) {
    return std::string();
  }
  if (!parsed.has("--http")) {
    return agent::fail(Code::cli_usage,
                       "`--token-env` is for `--http`",
                       "who starts errand on standard input needs no token: leave it out");
  }
  std::string token(agent::value_of(environment, *name));
  const bool is_word = std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7F; });
  if (token.size() < k_least || !is_word) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the variable {} has {}",
                    agent::one_line(*name, 60),
                    token.empty() ? "no token"
                    : is_word     ? "a token of less than 16 characters"
                                  : "more than one word"),
        "a token is one word of 16 characters or more: `openssl rand -hex 32` makes one");
  }
  return token;
}

Result<void> check_has_some(const Parsed& parsed) {
  if (parsed.positionals.empty() && !parsed.has("--tools")) {
    return agent::fail(Code::cli_usage,
                       "there is nothing to serve",
                       "name the agents, or with --tools one whose tools are to be served");
  }
  return {};
}

// The agent whose tools are served; nullopt: none is.
std::optional<Result<agent::AgentSpec>> load_toolbox(const Parsed& parsed, Context& context) {
  const auto file = parsed.value("--tools");
  return file ? std::optional(load_by_hand(*file, context)) : std::nullopt;
}

// What decides what is served, now and when this command is given again: all of it works in one
// folder. `toolbox` may be null.
Obeyed files_served(const std::vector<Plan>& plans,
                    const agent::AgentSpec* toolbox,
                    const Parsed& parsed,
                    const Context& context) {
  Obeyed files;
  for (const Plan& plan : plans) {
    std::ranges::move(obeyed_by_all(plan, parsed, context), std::back_inserter(files));
  }
  if (toolbox != nullptr) {
    std::ranges::move(obeyed_by_agent(*toolbox, context), std::back_inserter(files));
  }
  std::ranges::move(obeyed_by_next_agents(context), std::back_inserter(files));
  return files;
}

// `own` may be null.
Result<void> join(ServedTools& agents, ServedTools* own, JoinedTools& all) {
  all.add(agents);
  if (own == nullptr) {
    return {};
  }
  for (const ServedTool& tool : own->tools()) {
    if (std::ranges::find(agents.tools(), tool.name, &ServedTool::name) != agents.tools().end()) {
      return agent::fail(Code::cli_usage,
                         fmt::format("an agent and a tool are both called {}", tool.name),
                         "serve them by two commands, or call the agent something else");
    }
  }
  all.add(*own);
  return {};
}

// Of runs, where there are none. What a variable says is for other commands, too.
Result<void> check_options_of_runs(const Parsed& parsed) {
  constexpr auto k_of_runs = std::to_array<const char*>(
      {"--timeout", "--max-turns", "--max-cost", "--model", "--param", "--fail-on-denied"});
  for (const char* const name : k_of_runs) {
    if (parsed.positionals.empty() && parsed.is_given(name)) {
      return agent::fail(Code::cli_usage,
                         fmt::format("`{}` is for runs, and no agent is served", name),
                         "leave it out: what holds for the tools is in the file of `--tools`");
    }
  }
  return {};
}

int verbosity_of_server(const Parsed& parsed) {
  return parsed.has("--quiet") ? -1 : static_cast<int>(parsed.count("--verbose"));
}

}  // namespace

Result<int> command_mcp_serve(const Parsed& parsed, Context& given) {
  TRY_ASSIGN(const std::size_t parallel, calls_at_once(parsed));
  TRY(check_has_some(parsed));
  TRY(check_options_of_runs(parsed));
  TRY_ASSIGN(const auto place, place_of(parsed));
  TRY_ASSIGN(const std::string token, token_of(parsed, given.environment));
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  TRY(make_room_for(parallel + (place ? HttpLimits{}.connections / k_descriptors_of_a_run : 0)));
  agent::Cancellation& cancellation = given.cancellation;
  TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation));
  agent::Redactor redactor(given.environment);
  redactor.add(token);
  TRY(change_folder(parsed, given));
  agent::Environment environment = given.environment;
  environment.erase(parsed.value("--token-env").value_or(""));  // it is for nobody but clients
  Context context{.environment = environment,
                  .cwd = given.cwd,
                  .out = given.out,
                  .err = given.err,
                  .cancellation = cancellation,
                  .redactor = redactor,
                  .color_out = given.color_out,
                  .color_err = given.color_err};
  auto plans = prepare_all(parsed, context, redactor);
  if (!plans) {
    return tell_all(plans.error(), context, redactor);
  }
  providers::HttpClient http(environment);
  providers::ModelStates models;
  auto toolbox = load_toolbox(parsed, context);
  const auto obeyed =
      files_served(*plans, toolbox && *toolbox ? &**toolbox : nullptr, parsed, context);
  ServeLog log({.verbosity = verbosity_of_server(parsed), .color = context.color_err}, redactor);
  TRY_ASSIGN(const auto agents,
             AgentTools::create({.parsed = parsed,
                                 .context = context,
                                 .supervisor = *supervisor,
                                 .redactor = redactor,
                                 .http = http,
                                 .models = models,
                                 .log = log,
                                 .obeyed = obeyed},
                                *std::move(plans)));
  std::unique_ptr<SandboxTools> own_tools;
  if (toolbox) {
    TRY_ASSIGN(agent::AgentSpec agent, *std::move(toolbox));
    TRY_ASSIGN(own_tools,
               SandboxTools::open({.parsed = parsed,
                                   .context = context,
                                   .supervisor = *supervisor,
                                   .redactor = redactor,
                                   .http = http,
                                   .log = log,
                                   .obeyed = paths_of(obeyed)},
                                  std::move(agent)));
  }
  JoinedTools tools;
  TRY(join(*agents, own_tools.get(), tools));
  CallPool pool({.most_running = parallel}, cancellation);
  const auto served = [&]() -> Result<void> {
    if (!place) {
      return serve_stdio(
          {.tools = tools, .pool = pool, .redactor = redactor, .cancellation = cancellation});
    }
    return serve_http({.place = *place,
                       .token = token,
                       .tools = tools,
                       .pool = pool,
                       .redactor = redactor,
                       .cancellation = cancellation,
                       .tell_url = [&](const std::string& url) {
                         log.say("serving " + url, place->port == 0 ? -1 : 0);  // nobody knows it
                       }});
  }();
  const auto tidied = own_tools ? own_tools->tidy_up() : Result<void>();
  supervisor->dismiss();
  for (const agent::Error& warning : agents->remove_old_runs()) {
    log.warn({.message = warning.message, .help = warning.help});
  }
  TRY(served);
  TRY(tidied);
  const int signal = cancellation.signal_number();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace cli
