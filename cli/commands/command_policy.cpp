// `errand policy check`: what permissions say of a call, and why, without running it.
#include "agent/clock.h"
#include "agent/outcome.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "cli/known_names.h"
#include "cli/policy.h"
#include "cli/terminal/render_error.h"
#include "config/load.h"
#include "tools/runner/runner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;

// Every mistake but the last goes to stderr at once; the last one is the ending.
std::unexpected<agent::Error> end_with(std::vector<agent::Error> errors, Context& context) {
  for (std::size_t at = 0; at + 1 < errors.size(); ++at) {
    context.err << render(errors[at], context.color_err) << "\n\n";
  }
  return agent::fail(std::move(errors.back()));
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
  return {{"command", text}, {"path", text}, {"url", text}, {"pattern", "*"}, {"patch", patch}};
}

}  // namespace

Result<int> command_policy_check(const Parsed& parsed, Context& context) {
  auto report =
      config::load_agent(context.cwd / parsed.positionals[0], context.environment, known_names());
  if (!report.agent) {
    return end_with(std::move(report.errors), context);
  }
  report.agent->file = parsed.positionals[0];
  auto settings = load_settings(context.environment, context.cwd);
  if (!settings) {
    return end_with(std::move(settings).error(), context);
  }
  TRY_ASSIGN(const tools::Permissions permissions,
             permissions_of(*report.agent, *settings, parsed, context, {}));
  const std::string& name = parsed.positionals[1];
  const auto spec = std::ranges::find(report.agent->tools, name, &agent::ToolSpec::name);
  if (spec == report.agent->tools.end()) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the agent has no tool `{}`", name),
                       "`errand tools list AGENT` lists those that it has");
  }
  TRY_ASSIGN(const tools::ConfiguredTool configured, tools::configure_tool(*spec));
  const std::string text = parsed.positionals.size() > 2 ? parsed.positionals[2] : "{}";
  const tools::PermissionDecision decision =
      permissions.judge(name, configured.tool->access(arguments_of(text)));
  const std::string_view verdict = to_string(decision.verdict);
  if (parsed.value("--output") == "json") {
    const Json rule = decision.yes_rule.empty() ? Json(nullptr) : Json(decision.yes_rule);
    context.out << agent::dump({{"schema", "errand.policy/1"},
                                {"verdict", verdict},
                                {"reason", decision.reason},
                                {"offered", !permissions.always_denies(name)},
                                {"rule", rule}})
                << "\n";
  } else {
    context.out << fmt::format("{}: {}\n", verdict, decision.reason);
    if (!decision.yes_rule.empty()) {
      context.out << fmt::format("a yes to it: {}\n", decision.yes_rule);
    }
  }
  return decision.verdict == tools::Verdict::allow
             ? 0
             : agent::row(Code::tool_confirmation_required).exit_code;
}

}  // namespace cli
