// `errand tools`: what agents can do, looked at and tried by hand.
#include "agent/clock.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/refusal.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "cli/known_names.h"
#include "cli/open_sandbox.h"
#include "cli/prompt_input.h"
#include "cli/signals.h"
#include "cli/terminal/render_error.h"
#include "cli/tool_environment.h"
#include "config/load.h"
#include "providers/registry.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/obeyed_files.h"
#include "tools/process/supervisor.h"
#include "tools/runner/runner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
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

// Every mistake but the last goes to stderr at once; the last one is the ending.
Result<agent::AgentSpec> load(const std::string& file, Context& context) {
  config::Report report =
      config::load_agent(context.cwd / file, context.environment, known_names());
  for (const agent::Error& warning : report.warnings) {
    context.err << render_warning(warning, context.color_err, context.redactor) << "\n\n";
  }
  if (report.agent) {
    return std::move(*report.agent);
  }
  for (std::size_t at = 0; at + 1 < report.errors.size(); ++at) {
    context.err << render(report.errors[at], context.color_err, context.redactor) << "\n\n";
  }
  return agent::fail(std::move(report.errors.back()));
}

struct Chosen {
  agent::AgentSpec agent;                  // with the tools
  std::vector<std::string> key_variables;  // no tool inherits them
};

Result<Chosen> tools_of(const std::optional<std::string>& file, Context& context) {
  if (!file) {
    return Chosen{.agent = {.tools = builtin_tools()}, .key_variables = key_variables_of({}, {})};
  }
  TRY_ASSIGN(agent::AgentSpec spec, load(*file, context));
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

void write_json(std::span<const agent::ToolInfo> tools, Context& context) {
  Json json = {{"schema", "errand.tools/1"}, {"tools", Json::array()}};
  for (const agent::ToolInfo& tool : tools) {
    json["tools"].push_back({{"name", tool.name},
                             {"description", tool.description},
                             {"parameters", agent::parse_json(tool.parameters).value_or(Json())}});
  }
  context.out << context.redactor.dump(json) << "\n";
}

class Quiet final : public agent::ToolWatcher {
 public:
  bool started(const agent::ToolCall&) override { return true; }
  void output(const agent::ToolCall&, std::string_view) override {}
  void finished(const agent::ToolResult&) override {}
};

Result<std::string> arguments_of(const Parsed& parsed) {
  std::string text = parsed.positionals.size() > 1 ? parsed.positionals[1] : "{}";
  if (text == "-") {
    const std::array<std::string, 1> words{"-"};
    TRY_ASSIGN(const auto input, read_prompt({.words = words, .file = std::nullopt}));
    text = input.value_or("");
  }
  if (const auto why = agent::why_not_text(text)) {
    return agent::fail(Code::cli_usage,
                       "the arguments of the tool are not valid text: " + *why,
                       "give them as UTF-8");
  }
  const auto json = agent::parse_json(text);
  if (!json) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("what the tool is given as arguments {}", agent::why_not_json(text)),
        "for example '{\"path\": \"README.md\"}'; mind the shell's quotes");
  }
  if (!json->is_object()) {
    return agent::fail(Code::cli_usage,
                       "the arguments of the tool are not a JSON object",
                       "for example '{\"path\": \"README.md\"}'; mind the shell's quotes");
  }
  return text;
}

Result<int> ending(const agent::ToolResult& result, int signal) {
  if (signal != 0) {
    return agent::exit_code(
        agent::Ending{.error = std::nullopt, .stop = std::nullopt, .signal = signal});
  }
  if (!result.code) {
    return 0;
  }
  const bool ends_runs = agent::row(*result.code).exit_code != 0;
  return agent::fail(ends_runs ? *result.code : Code::tool_failed, result.message, result.help);
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
  if (parsed.value("--output") == "json") {
    write_json(toolbox->tools(), context);
  } else {
    write_list(lines_of(toolbox->tools(), is_named), context);
  }
  return 0;
}

Result<int> command_tools_call(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());  // before any thread
  TRY_ASSIGN(Chosen chosen, tools_of(parsed.value("--agent"), context));
  unblock_signals();  // what is read may be long in coming
  TRY_ASSIGN(const std::string arguments, arguments_of(parsed));
  agent::Cancellation& cancellation = context.cancellation;
  TRY_ASSIGN(const auto signals, SignalWatcher::start(cancellation));
  agent::Redactor redactor = context.redactor;
  for (const agent::ToolSpec& tool : chosen.agent.tools) {
    redactor.add(tool.env);
  }
  apply_sandbox_option(chosen.agent.sandbox, parsed);
  agent::AgentSpec called = chosen.agent;  // what other tools could do is of no importance,
  std::vector<std::filesystem::path> obeyed = tools::obeyed_files(  // but what they would run is
      chosen.agent,
      context.cwd,
      agent::value_of(context.environment, "HOME"));
  std::erase_if(called.tools, [&](const agent::ToolSpec& tool) {
    return tool.name != parsed.positionals.front();
  });
  TRY_ASSIGN(const auto tool_environment,
             ToolEnvironment::open(called,
                                   {.folder_id = agent::new_run_id(), .obeyed = std::move(obeyed)},
                                   context,
                                   *supervisor,
                                   redactor));
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
  Quiet watcher;
  const std::array<agent::ToolCall, 1> calls{
      agent::ToolCall{.id = "call_1", .name = parsed.positionals.front(), .arguments = arguments}};
  const auto results = toolbox->run(calls, watcher, cancellation.stop(), cancellation.kill());
  agent::ToolResult result = results.front();
  for (agent::Leftover& left : toolbox->tidy_up()) {
    context.err << render_warning(
                       {.message = left.sentence, .help = {}}, context.color_err, context.redactor)
                << "\n\n";
    if (left.is_obeyed) {
      result.code = Code::sandbox_violation;
      result.message = std::move(left.sentence);
    }
  }
  if (result.truncated) {
    tool_environment->folder().leave();  // the result names the file
  }
  context.out << result.content << (result.content.ends_with('\n') ? "" : "\n");
  return ending(result, cancellation.signal_number());
}

}  // namespace cli
