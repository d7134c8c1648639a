// `errand policy check`: what would become of a call, and why, without running it.
#include "agent/clock.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/schema/json_schema.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "cli/known_names.h"
#include "cli/open_sandbox.h"
#include "cli/permissions.h"
#include "cli/run_folder.h"
#include "cli/terminal/render_error.h"
#include "cli/tool_by_hand.h"
#include "cli/user_places.h"
#include "config/load.h"
#include "tools/builtin/registry.h"
#include "tools/mcp/find_tools.h"
#include "tools/mcp/read_resources.h"
#include "tools/permissions/shell_script.h"
#include "tools/process/supervisor.h"
#include "tools/runner/approval.h"
#include "tools/runner/possible_call.h"
#include "tools/runner/runner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;
namespace fs = std::filesystem;

// Every mistake but the last goes to stderr at once; the last one is the ending.
std::unexpected<agent::Error> end_with(std::vector<agent::Error> errors, Context& context) {
  for (std::size_t at = 0; at + 1 < errors.size(); ++at) {
    context.err << render(errors[at], context.color_err, context.redactor) << "\n\n";
  }
  return agent::fail(std::move(errors.back()));
}

bool is_object(const std::string& text) {
  const auto json = agent::parse_json(text);
  return json && json->is_object();
}

// A JSON object, or the one argument that is meant: the command line, the path, the URL, or the
// patch (that of a path: any change of the file).
Json arguments_of(const std::string& text) {
  auto json = agent::parse_json(text);
  if (json && json->is_object()) {
    return std::move(*json);
  }
  const std::string patch =
      text.contains('\n') ? text : fmt::format("--- {0}\n+++ {0}\n@@ -1 +1 @@\n-\n+\n", text);
  const auto blank = std::min(text.find(' '), text.size());  // SERVER, or SERVER URI
  const std::string uri(agent::trimmed(std::string_view(text).substr(blank)));
  return {{"command", text},
          {"path", text},
          {"url", text},
          {"pattern", "x"},
          {"patch", patch},
          {"operation", uri.empty() ? "list" : "read"},
          {"server", text.substr(0, blank)},
          {"uri", uri}};
}

// Whether the tool takes them. Those that are no JSON are made up here: they are looked at where
// they are all that the tool needs.
Result<void> check_fit(const tools::Tool& tool, const std::string& text, const Json& arguments) {
  const Json parameters = agent::parse_json(tool.info().parameters).value_or(Json());
  TRY_ASSIGN(const agent::JsonSchema schema, agent::JsonSchema::compile(parameters));
  const auto json = agent::parse_json(text);
  if (json && json->is_object()) {
    return tools::check_fit(tool, schema, *json);
  }
  const Json known = parameters.value("properties", Json::object());
  Json given = Json::object();
  for (const auto& [name, value] : arguments.items()) {
    if (known.contains(name)) {
      given[name] = value;
    }
  }
  const Json needed = parameters.value("required", Json::array());
  const bool is_whole = std::ranges::all_of(
      needed, [&](const Json& name) { return given.contains(name.get<std::string>()); });
  return is_whole ? tools::check_fit(tool, schema, given) : Result<void>();
}

fs::path place_of(const std::string& word, const Context& context) {
  const fs::path home(agent::value_of(context.environment, "HOME"));
  return (word.starts_with("~/") ? home / word.substr(2) : context.cwd / word).lexically_normal();
}

// What the words of a command line name and the sandbox closes to its programs. Whether they read
// it is their own business.
std::vector<std::string> closed_in(const std::string& line,
                                   const Context& context,
                                   const tools::Sandbox& sandbox) {
  std::vector<std::string> closed;
  for (const tools::ShellCommand& command : tools::read_shell(line).commands) {
    for (const std::string& word : command.words) {
      const std::string path = word.substr(word.starts_with('-') ? word.find('=') + 1 : 0);
      if (!path.contains('/') || path.starts_with('-') || tools::has_unknown(path)) {
        continue;
      }
      std::error_code error;
      const fs::path named = place_of(path, context);
      const fs::path real = fs::weakly_canonical(named, error);
      const fs::path& there = error ? named : real;
      if (sandbox.policy().reading(there) != tools::sandbox::Verdict::allowed &&
          !sandbox.has_own(there) && std::ranges::find(closed, path) == closed.end()) {
        closed.push_back(path);
      }
    }
  }
  return closed;
}

// What stops the call though it is permitted: what a run would say.
Result<void> check_call(const tools::Tool& tool,
                        const Json& arguments,
                        const tools::Sandbox* sandbox,
                        const Context& context) {
  const fs::path temporary;
  return tools::check_possible(tool,
                               arguments,
                               {.cwd = context.cwd,
                                .temporary = temporary,
                                .environment = context.environment,
                                .policy = sandbox != nullptr ? &sandbox->policy() : nullptr,
                                .stop = {},
                                .kill = {},
                                .on_output = {},
                                .is_programs_own = [sandbox](const fs::path& place) {
                                  return sandbox != nullptr && sandbox->has_own(place);
                                }});
}

std::string network_of(const agent::SandboxSpec& sandbox) {
  if (sandbox.mode == agent::SandboxSpec::Mode::off) {
    return "off: what it runs reaches all that you reach, the network included";
  }
  const std::string_view mode = to_string(sandbox.mode);
  if (sandbox.network) {
    return fmt::format("{}: what it runs reaches every host", mode);
  }
  return sandbox.allow_hosts.empty()
             ? fmt::format("{}: what it runs has no network", mode)
             : fmt::format(
                   "{}: what it runs reaches {} alone", mode, fmt::join(sandbox.allow_hosts, ", "));
}

// What a run would make for the tool: programs need one that this machine can enforce, other tools
// the rules alone.
class TriedSandbox {
 public:
  TriedSandbox(const agent::AgentSpec& agent, bool runs_programs, const Context& context)
      : sandbox_(runs_programs && agent.sandbox.mode != agent::SandboxSpec::Mode::off
                     ? try_out(agent, context)
                     : open_file_rules(agent, context)) {}

  const tools::Sandbox* get() const { return sandbox_ ? sandbox_->get() : nullptr; }
  Result<void> opened() const { return sandbox_ ? Result<void>() : agent::fail(sandbox_.error()); }

 private:
  Result<std::unique_ptr<tools::Sandbox>> try_out(const agent::AgentSpec& agent,
                                                  const Context& context) {
    TRY_ASSIGN(supervisor_, tools::Supervisor::start());
    TRY_ASSIGN(const auto temporary,
               find_temporary(context.environment, written_by(agent, {}, context)));
    folder_.emplace(temporary, agent::new_run_id());
    return open_sandbox(agent, context, {.folder = *folder_, .supervisor = *supervisor_});
  }

  std::optional<RunFolder> folder_;
  std::unique_ptr<tools::Supervisor> supervisor_;
  const Result<std::unique_ptr<tools::Sandbox>> sandbox_;
};

// What no part of errand itself does: looked at, not called.
class ForeignTool final : public tools::Tool {
 public:
  using AccessOf = tools::Access (*)(const Json& arguments);
  using Check = Result<void> (*)(const Json& arguments);

  ForeignTool(agent::ToolInfo info, AccessOf access_of, Check own_check = nullptr)
      : info_(std::move(info)), access_of_(access_of), check_(own_check) {}

  const agent::ToolInfo& info() const override { return info_; }
  tools::Access access(const Json& arguments) const override { return access_of_(arguments); }
  Result<void> check_arguments(const Json& arguments) const override {
    return check_ == nullptr ? Result<void>() : check_(arguments);
  }
  tools::Output call(const Json& /*arguments*/, const tools::CallContext& /*context*/) override {
    return tools::failure(Code::tool_failed, "it is not called here");
  }

 private:
  agent::ToolInfo info_;
  AccessOf access_of_;
  Check check_;  // null: the schema says it all
};

// Of an MCP server, by its name alone: whether the server has it, and what it takes, is not asked.
std::unique_ptr<tools::Tool> tool_of_server(const std::string& name, ForeignTool::AccessOf access) {
  return std::make_unique<ForeignTool>(
      agent::ToolInfo{.name = name, .description = {}, .parameters = R"({"type": "object"})"},
      access);
}

std::vector<std::string> servers_with_resources(const agent::AgentSpec& agent) {
  std::vector<std::string> servers;
  for (const agent::McpServerSpec& server : agent.mcp_servers) {
    if (server.offers_resources) {
      servers.push_back(server.name);
    }
  }
  return servers;
}

std::unique_ptr<tools::Tool> resource_reader(const std::vector<std::string>& servers) {
  return std::make_unique<ForeignTool>(
      agent::ToolInfo{.name = std::string(tools::mcp::k_resource_reader),
                      .description = {},
                      .parameters = tools::mcp::resource_parameters(servers)},
      tools::mcp::access_to_resource,
      tools::mcp::check_resource_call);
}

tools::Access access_to_server(const Json& arguments) {
  return {.kind = tools::Access::Kind::server, .target = agent::canonical(arguments)};
}

tools::Access access_to_nothing(const Json& /*arguments*/) {
  return {.kind = tools::Access::Kind::nothing, .target = {}};
}

bool is_tool_of_server(const agent::AgentSpec& agent, std::string_view name) {
  return std::ranges::any_of(agent.mcp_servers, [&](const agent::McpServerSpec& server) {
    return name.starts_with(server.tool_prefix());
  });
}

Result<std::unique_ptr<tools::Tool>> tool_of(const agent::AgentSpec& agent,
                                             const std::string& name,
                                             Context& context) {
  const auto spec = std::ranges::find(agent.tools, name, &agent::ToolSpec::name);
  if (spec != agent.tools.end()) {
    TRY_ASSIGN(tools::ConfiguredTool configured, tools::configure_tool(*spec));
    return std::move(configured.tool);
  }
  if (is_tool_of_server(agent, name)) {
    return tool_of_server(name, access_to_server);
  }
  const auto readable = servers_with_resources(agent);
  if (!readable.empty() && name == tools::mcp::k_resource_reader) {
    return resource_reader(readable);
  }
  if (!agent.mcp_servers.empty() && name == tools::mcp::k_tool_finder) {
    return tool_of_server(name, access_to_nothing);
  }
  TRY_ASSIGN(auto others, agents_as_tools(agent, context));
  const auto other = std::ranges::find(others, name, &agent::ToolInfo::name);
  if (other != others.end()) {
    return std::make_unique<ForeignTool>(std::move(*other), access_to_nothing);
  }
  return agent::fail(Code::cli_usage,
                     fmt::format("the agent has no tool `{}`", agent::one_line(name, 100)),
                     agent.mcp_servers.empty()
                         ? "`errand tools list AGENT` lists those that it has"
                         : "`errand tools list AGENT` lists those that it has, and "
                           "`errand mcp tools AGENT` those of its MCP servers");
}

}  // namespace

Result<int> command_policy_check(const Parsed& parsed, Context& context) {
  auto report =
      config::load_agent(context.cwd / parsed.positionals[0], context.environment, known_names());
  if (!report.agent) {
    return end_with(std::move(report.errors), context);
  }
  report.agent->file = parsed.positionals[0];
  apply_sandbox_option(report.agent->sandbox, parsed);
  auto settings = load_settings(context.environment, context.cwd);
  if (!settings) {
    return end_with(std::move(settings).error(), context);
  }
  const std::string& name = parsed.positionals[1];
  TRY_ASSIGN(const std::unique_ptr<tools::Tool> tool, tool_of(*report.agent, name, context));
  const auto spec = std::ranges::find(report.agent->tools, name, &agent::ToolSpec::name);
  const bool runs_programs = spec != report.agent->tools.end() && tools::runs_programs(*spec);
  const TriedSandbox sandbox(*report.agent, runs_programs, context);
  TRY_ASSIGN(const tools::Permissions permissions,
             permissions_of(*report.agent, *settings, parsed, context, {}, sandbox.get()));
  const std::string text = parsed.positionals.size() > 2 ? parsed.positionals[2] : "{}";
  if (is_tool_of_server(*report.agent, name) && !is_object(text)) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("the arguments of `{}` are not a JSON object: {}",
                    agent::one_line(name, 100),
                    agent::one_line(text, 100)),
        "what else a word of the command line may stand for, only errand's own tools "
        "tell");
  }
  const Json arguments = arguments_of(text);
  const auto fits = check_fit(*tool, text, arguments);
  const tools::Access access =
      fits ? tool->access(arguments) : tools::Access{.kind = tools::Access::Kind::nothing};
  const tools::PermissionDecision decision = permissions.judge(name, access);
  const auto opened = sandbox.opened();
  const auto passes = !fits    ? fits
                      : opened ? check_call(*tool, arguments, sandbox.get(), context)
                               : opened;
  const std::vector<std::string> closed =
      access.kind == tools::Access::Kind::commands && sandbox.get() != nullptr
          ? closed_in(access.target, context, *sandbox.get())
          : std::vector<std::string>();
  const bool is_refused = !passes && decision.verdict != tools::Verdict::deny;
  const std::string_view permission = to_string(decision.verdict);
  const std::string_view verdict = is_refused ? "refused" : permission;
  const auto shown = [&](const std::string& words) {
    return agent::one_line(context.redactor.apply(words));
  };
  const std::string& reason = is_refused ? passes.error().message : decision.reason;
  if (parsed.value("--output") == "json") {
    const agent::SandboxInForce limits = describe(report.agent->sandbox, nullptr);
    const Json rule = decision.yes_rule.empty() ? Json(nullptr) : Json(decision.yes_rule);
    context.out << context.redactor.dump(
                       {{"schema", "errand.policy/1"},
                        {"verdict", verdict},
                        {"reason", reason},
                        {"offered", !permissions.always_denies(name)},
                        {"rule", rule},
                        {"permission", {{"verdict", permission}, {"reason", decision.reason}}},
                        {"sandbox",
                         {{"mode", limits.mode},
                          {"network", limits.network},
                          {"hosts", limits.hosts},
                          {"closed", closed}}}})
                << "\n";
  } else {
    context.out << fmt::format("{}: {}\n", verdict, shown(reason));
    if (is_refused && fits) {
      context.out << fmt::format("permissions alone: {}: {}\n", permission, shown(decision.reason));
    } else if (fits && !decision.yes_rule.empty()) {
      const std::string rule = context.redactor.apply(decision.yes_rule);
      context.out << (tools::can_be_typed(rule)
                          ? fmt::format("the rule that allows it: {}\n", rule)
                          : fmt::format("the rule that allows it, in a file: {}\n",
                                        agent::printable_json(agent::dump(Json(rule)))));
    }
    if (runs_programs && fits && decision.verdict != tools::Verdict::deny) {
      context.out << fmt::format("sandbox: {}\n", network_of(report.agent->sandbox));
      for (const std::string& path : closed) {
        context.out << fmt::format("sandbox: `{}` is closed to what it runs\n", shown(path));
      }
    }
  }
  return passes && decision.verdict == tools::Verdict::allow
             ? 0
             : agent::row(Code::tool_confirmation_required).exit_code;
}

}  // namespace cli
