#include "cli/permissions.h"

#include "tools/builtin/registry.h"
#include "tools/hooks/obeyed_files.h"
#include "tools/sandbox/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Error;

bool is_on(const agent::SandboxSpec& sandbox) {
  return sandbox.mode != agent::SandboxSpec::Mode::off;
}

// What the sandbox is sure to hold back: a layer that is not required may be missing.
tools::Confined confined_by(const agent::SandboxSpec& sandbox) {
  const auto is_sure = [&](std::string_view layer) {
    return is_on(sandbox) && std::ranges::find(sandbox.required, layer) != sandbox.required.end();
  };
  const bool has_network = sandbox.network || !sandbox.allow_hosts.empty();
  return {.processes = is_sure("files") && is_sure("network") && !has_network,
          .files = is_on(sandbox),
          .has_network = is_on(sandbox) && has_network};
}

// What a sandbox would lock, where there is none.
std::vector<fs::path> guarded_files(const agent::AgentSpec& agent, const Context& context) {
  if (is_on(agent.sandbox)) {
    return {};
  }
  std::vector<fs::path> files = tools::sandbox::locked_places(context.cwd);
  std::ranges::move(
      tools::obeyed_files(agent, context.cwd, agent::value_of(context.environment, "HOME")),
      std::back_inserter(files));
  return files;
}

void append(std::vector<agent::PermissionRule>& rules,
            const std::vector<agent::PermissionRule>& more) {
  rules.insert(rules.end(), more.begin(), more.end());
}

agent::Result<void> add_option(const Parsed& parsed,
                               std::string_view option,
                               const std::vector<std::string>& names,
                               std::vector<agent::PermissionRule>& rules) {
  for (const std::string& text : parsed.all(option)) {
    if (const auto checked = tools::check_rule(text, names); !checked) {
      return agent::fail(agent::Code::cli_usage,
                         fmt::format("{}: {}", option, checked.error().message),
                         checked.error().help);
    }
    rules.push_back({.text = text, .origin = std::string(option)});
  }
  return {};
}

agent::Result<void> check_tool_choice(const agent::ModelSpec& model,
                                      const std::vector<agent::ToolSpec>& tools,
                                      const tools::Permissions& permissions) {
  const std::string& choice = model.tool_choice;
  const auto is_offered = [&](const agent::ToolSpec& tool) {
    return !permissions.always_denies(tool.name);
  };
  const auto named = std::ranges::find(tools, choice, &agent::ToolSpec::name);
  Error error{.code = agent::Code::config_invalid, .message = {}, .help = {}};
  if (named != tools.end() && !is_offered(*named)) {
    error.message = fmt::format("`model.tool_choice` names `{}`, which is denied", choice);
    error.help = "choose another tool, or take out the rule of `permissions` that denies it";
  } else if (choice == "required" && std::ranges::none_of(tools, is_offered)) {
    error.message = "`model.tool_choice` is required, but all tools are denied";
    error.help = "take this key out, or a rule of `permissions` that denies tools";
  } else {
    return {};
  }
  error.where = model.where;
  return agent::fail(std::move(error));
}

}  // namespace

agent::Result<void> check_tool_choice(const agent::AgentSpec& agent,
                                      const tools::Permissions& permissions) {
  TRY(check_tool_choice(agent.model, agent.tools, permissions));
  for (const agent::ModelSpec& model : agent.fallback.models) {
    TRY(check_tool_choice(model, agent.tools, permissions));
  }
  return {};
}

agent::Result<tools::Permissions> permissions_of(const agent::AgentSpec& agent,
                                                 const Settings& settings,
                                                 const Parsed& parsed,
                                                 const Context& context,
                                                 const fs::path& temporary,
                                                 const tools::Sandbox* sandbox) {
  agent::PermissionSpec spec = agent.permissions;
  config::tighten(spec, settings.project.permissions);
  const agent::PermissionSpec& user = settings.user.config.permissions;
  append(spec.allow, user.allow);
  append(spec.ask, user.ask);
  append(spec.deny, user.deny);
  std::vector<std::string> names = tools::builtin_names();
  std::ranges::transform(agent.tools, std::back_inserter(names), &agent::ToolSpec::name);
  TRY(add_option(parsed, "--allow", names, spec.granted));
  TRY(add_option(parsed, "--deny", names, spec.deny));
  return tools::Permissions::create(spec,
                                    {.cwd = context.cwd,
                                     .temporary = temporary,
                                     .home = fs::path(agent::value_of(context.environment, "HOME")),
                                     .confined = confined_by(agent.sandbox),
                                     .guarded = guarded_files(agent, context),
                                     .keeps = [sandbox](const fs::path& place, bool is_writing) {
                                       std::error_code error;
                                       return sandbox != nullptr
                                                  ? sandbox->keeps(place, is_writing)
                                                  : !is_writing || fs::exists(place, error);
                                     }});
}

}  // namespace cli
