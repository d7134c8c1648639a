#include "cli/permissions.h"

#include "agent/json.h"
#include "agent/text.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/obeyed_files.h"
#include "tools/sandbox/places.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <system_error>
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
std::vector<fs::path> guarded_files(const agent::AgentSpec& agent,
                                    std::span<const fs::path> obeyed,
                                    const Context& context) {
  if (is_on(agent.sandbox)) {
    return {};
  }
  std::vector<fs::path> files = tools::sandbox::locked_places(context.cwd);
  std::ranges::move(tools::obeyed_files(agent, context.cwd, context.environment),
                    std::back_inserter(files));
  std::ranges::copy(obeyed, std::back_inserter(files));
  return files;
}

void append(std::vector<agent::PermissionRule>& rules,
            const std::vector<agent::PermissionRule>& more) {
  rules.insert(rules.end(), more.begin(), more.end());
}

// In a shell's quotes they are easily others than those that were meant.
agent::Result<void> check_characters(std::string_view option, const std::string& text) {
  const auto is_control = [](char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; };
  const auto at = std::ranges::find_if(text, is_control);
  if (at == text.end() && agent::is_valid_utf8(text)) {
    return {};
  }
  return agent::fail(
      agent::Code::cli_usage,
      fmt::format("{}: the rule {} {}",
                  option,
                  agent::dump(agent::Json(agent::to_valid_utf8(agent::prefix(text, 200)))),
                  at == text.end() ? "is not valid UTF-8"
                  : *at == '\n'
                      ? fmt::format("has a line end in it (byte {})", at - text.begin())
                      : fmt::format("has a control character in it (byte {})", at - text.begin())),
      "write it in `permissions` of the agent file or of your settings, in double quotes, where "
      "\\n is a line end; or answer the call itself: errand resume RUN --approve CALL");
}

agent::Result<void> add_option(const Parsed& parsed,
                               std::string_view option,
                               const std::vector<std::string>& names,
                               std::vector<agent::PermissionRule>& rules) {
  for (const std::string& text : parsed.all(option)) {
    TRY(check_characters(option, text));
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

agent::Result<void> add_options(const std::vector<std::string>& names,
                                const Parsed& parsed,
                                agent::PermissionSpec& spec) {
  TRY(add_option(parsed, "--allow", names, spec.granted));
  return add_option(parsed, "--deny", names, spec.deny);
}

void add_names(const agent::AgentSpec& agent, std::vector<std::string>& names) {
  std::ranges::transform(agent.tools, std::back_inserter(names), &agent::ToolSpec::name);
  std::ranges::transform(
      agent.mcp_servers, std::back_inserter(names), &agent::McpServerSpec::tool_prefix);
  std::ranges::transform(agent.sub_agents, std::back_inserter(names), &agent::SubAgentSpec::name);
  std::ranges::transform(agent.handoffs, std::back_inserter(names), &agent::HandoffSpec::tool);
}

std::vector<std::string> names_in_rules(const agent::AgentSpec& agent) {
  std::vector<std::string> names = tools::builtin_names();
  add_names(agent, names);
  return names;
}

// Empty: they may name tools of others, and have been looked at.
std::vector<std::string> names_in_own_rules(const agent::AgentSpec& agent) {
  return agent.sub_agents.empty() && agent.handoffs.empty() ? names_in_rules(agent)
                                                            : std::vector<std::string>();
}

agent::Result<tools::Permissions> compose(const agent::AgentSpec& agent,
                                          const std::vector<std::string>& names,
                                          const Settings& settings,
                                          const Parsed& parsed,
                                          const Context& context,
                                          const fs::path& temporary,
                                          const tools::Sandbox* sandbox,
                                          std::span<const fs::path> obeyed) {
  agent::PermissionSpec spec = agent.permissions;
  config::tighten(spec, settings.project.permissions);
  const agent::PermissionSpec& user = settings.user.config.permissions;
  append(spec.allow, user.allow);
  append(spec.ask, user.ask);
  append(spec.deny, user.deny);
  TRY(add_options(names, parsed, spec));
  return tools::Permissions::create(spec,
                                    {.cwd = context.cwd,
                                     .temporary = temporary,
                                     .home = fs::path(agent::value_of(context.environment, "HOME")),
                                     .confined = confined_by(agent.sandbox),
                                     .guarded = guarded_files(agent, obeyed, context),
                                     .keeps = [sandbox](const fs::path& place, bool is_writing) {
                                       std::error_code error;
                                       return sandbox != nullptr
                                                  ? sandbox->keeps(place, is_writing)
                                                  : !is_writing || fs::exists(place, error);
                                     }});
}

}  // namespace

std::vector<std::string> names_in_rules(std::span<const agent::AgentSpec* const> agents) {
  std::vector<std::string> names = tools::builtin_names();
  for (const agent::AgentSpec* one : agents) {
    add_names(*one, names);
  }
  return names;
}

std::vector<agent::PermissionRule> rules_of(const agent::PermissionSpec& permissions) {
  std::vector<agent::PermissionRule> rules = permissions.allow;
  append(rules, permissions.ask);
  append(rules, permissions.deny);
  return rules;
}

agent::Result<void> check_rules(const agent::AgentSpec& agent, const Parsed& parsed) {
  agent::PermissionSpec ignored;
  return add_options(names_in_rules(agent), parsed, ignored);
}

agent::Result<void> check_rules_of_all(const agent::AgentSpec& agent,
                                       std::span<const agent::AgentSpec* const> below,
                                       const Parsed& parsed) {
  std::vector<std::string> names = names_in_rules(agent);
  for (const agent::AgentSpec* one : below) {
    add_names(*one, names);
  }
  for (const auto* rules :
       {&agent.permissions.allow, &agent.permissions.ask, &agent.permissions.deny}) {
    for (const agent::PermissionRule& rule : *rules) {
      if (auto checked = tools::check_rule(rule.text, names); !checked) {
        Error error = std::move(checked).error();
        error.code = agent::Code::team_invalid;
        error.message += fmt::format(" ({})", rule.origin);
        return agent::fail(std::move(error));
      }
    }
  }
  agent::PermissionSpec ignored;
  return add_options(names, parsed, ignored);
}

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
  return compose(
      agent, names_in_own_rules(agent), settings, parsed, context, temporary, sandbox, {});
}

agent::Result<tools::Permissions> permissions_below(std::span<const agent::AgentSpec* const> above,
                                                    const agent::AgentSpec& agent,
                                                    const Settings& settings,
                                                    const Parsed& parsed,
                                                    const Context& context,
                                                    const fs::path& temporary,
                                                    const tools::Sandbox* sandbox,
                                                    std::span<const fs::path> obeyed) {
  const auto rules_of = [&](const agent::AgentSpec& one, const std::vector<std::string>& names) {
    return compose(one, names, settings, parsed, context, temporary, sandbox, obeyed);
  };
  if (above.empty()) {
    return rules_of(agent, names_in_own_rules(agent));
  }
  TRY_ASSIGN(auto permissions, rules_of(agent, {}));
  for (const agent::AgentSpec* one : above) {
    agent::AgentSpec upper = *one;
    upper.sandbox = agent.sandbox;  // what it is called in: cut with theirs already
    TRY_ASSIGN(auto rules, rules_of(upper, {}));
    permissions.stay_below(std::move(rules));
  }
  return permissions;
}

}  // namespace cli
