// `errand tools`: what agents can do, looked at and tried by hand.
#include "agent/clock.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/flow_files.h"
#include "cli/help.h"
#include "cli/known_names.h"
#include "cli/open_sandbox.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "cli/tool_by_hand.h"
#include "cli/tool_environment.h"
#include "cli/user_places.h"
#include "providers/registry.h"
#include "tools/builtin/registry.h"
#include "tools/process/supervisor.h"
#include "tools/runner/runner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;
using Specs = std::vector<agent::ToolSpec>;

Specs builtin_tools() {
  Specs specs;
  for (const auto& name : tools::builtin_names()) {
    specs.push_back({.kind = agent::ToolSpec::Kind::builtin, .name = std::string(name)});
  }
  return specs;
}

struct Chosen {
  agent::AgentSpec agent;                  // with the tools
  std::vector<std::string> key_variables;  // no tool inherits them
};

Result<Chosen> tools_of(const std::optional<std::string>& file, Context& context) {
  if (!file) {
    return Chosen{.agent = {.tools = builtin_tools()}, .key_variables = key_variables_of({}, {})};
  }
  TRY_ASSIGN(agent::AgentSpec spec, load_by_hand(*file, context));
  auto variables = key_variables_of(spec, context.environment);
  return Chosen{.agent = std::move(spec), .key_variables = std::move(variables)};
}

struct Line {
  std::string_view name;
  std::string_view help;
};

void write_list(const std::vector<Line>& lines, Context& context) {
  constexpr std::size_t k_indent = 18;
  for (const Line& line : lines) {
    context.out << fmt::format("{:<16}  {}\n",
                               line.name,
                               wrapped(context.redactor.apply(line.help), 80 - k_indent, k_indent));
  }
}

// People get the one line of the table for a built-in tool, not what is written for models.
std::vector<Line> lines_of(std::span<const agent::ToolInfo> tools, bool of_agent) {
  std::vector<Line> lines;
  if (of_agent) {
    for (const agent::ToolInfo& tool : tools) {
      lines.push_back({tool.name, tool.description});
    }
    return lines;
  }
  for (const tools::Builtin& builtin : tools::builtins()) {
    lines.push_back({builtin.name, builtin.help});
  }
  return lines;
}

}  // namespace

Result<int> command_tools_list(const Parsed& parsed, Context& context) {
  const bool is_named = !parsed.positionals.empty();
  TRY_ASSIGN(
      const Chosen chosen,
      tools_of(is_named ? std::optional(parsed.positionals.front()) : std::nullopt, context));
  agent::SystemClock clock;
  TRY_ASSIGN(const auto toolbox,
             tools::Runner::create(chosen.agent.tools,
                                   {.cwd = context.cwd,
                                    .temporary = {},
                                    .environment = context.environment,
                                    .scrub = {},
                                    .redactor = &context.redactor,
                                    .clock = &clock,
                                    .sandbox = is_named ? &chosen.agent.sandbox : nullptr}));
  std::vector<agent::ToolInfo> tools(toolbox->tools().begin(), toolbox->tools().end());
  TRY_ASSIGN(auto others, agents_as_tools(chosen.agent, context));
  std::ranges::move(others, std::back_inserter(tools));
  if (parsed.value("--output") == "json") {
    context.out << context.redactor.dump(json_of_tools(tools)) << "\n";
  } else {
    write_list(lines_of(tools, is_named), context);
  }
  if (const std::size_t servers = chosen.agent.mcp_servers.size(); servers > 0) {
    context.err << fmt::format(
        "and the tools of {} MCP server{}: `errand mcp tools {}` asks for them\n",
        servers,
        servers == 1 ? "" : "s",
        agent::shell_word(chosen.agent.file));
  }
  return 0;
}

Result<int> command_tools_call(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(Chosen chosen, tools_of(parsed.value("--agent"), context));
  unblock_signals();  // what is read may be long in coming
  TRY_ASSIGN(const std::string arguments,
             arguments_by_hand(parsed.positionals.size() > 1 ? parsed.positionals[1] : "{}"));
  TRY_ASSIGN(const auto signals, SignalWatcher::start(context.cancellation));
  agent::Redactor redactor = context.redactor;
  for (const agent::ToolSpec& tool : chosen.agent.tools) {
    redactor.add(tool.env);
  }
  apply_sandbox_option(chosen.agent.sandbox, parsed);
  agent::AgentSpec called = chosen.agent;  // what other tools could do is of no importance, but
  auto obeyed = obeyed_by_hand(chosen.agent, context);  // what they would run is
  std::erase_if(called.tools, [&](const agent::ToolSpec& tool) {
    return tool.name != parsed.positionals.front();
  });
  auto opened = ToolEnvironment::open(called,
                                      {.folder_id = agent::new_run_id(),
                                       .is_written = written_by(called, {}, context),
                                       .obeyed = std::move(obeyed)},
                                      context,
                                      *supervisor,
                                      redactor);
  if (const int signal = context.cancellation.signal_number(); !opened && signal != 0) {
    return agent::exit_code(
        agent::Ending{.error = std::nullopt, .stop = std::nullopt, .signal = signal});
  }
  TRY_ASSIGN(const auto tool_environment, std::move(opened));
  for (std::string& sentence : tool_environment->warnings()) {
    context.err << render_warning({.code = Code::sandbox_setup, .message = std::move(sentence)},
                                  context.color_err,
                                  context.redactor)
                << "\n\n";
  }
  tools::RunnerOptions options = tool_environment->runner_options(chosen.key_variables);
  options.guards_unseen = false;  // a person has looked already
  options.seed = std::random_device{}();
  TRY_ASSIGN(const auto toolbox, tools::Runner::create(chosen.agent.tools, std::move(options)));
  return call_by_hand(*toolbox,
                      {.id = "call_1", .name = parsed.positionals.front(), .arguments = arguments},
                      tool_environment->folder(),
                      false,
                      context);
}

}  // namespace cli
