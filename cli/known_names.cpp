#include "cli/known_names.h"

#include "providers/registry.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/hook_coverage.h"
#include "tools/permissions/permissions.h"
#include "tools/web/host_list.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace cli {

config::KnownNames known_names() {
  return {.tools = tools::builtin_names(),
          .program_tools = tools::program_tools(),
          .web_tools = tools::web_tools(),
          .protocols = providers::protocol_names(),
          .key_variables = providers::key_variables({}),
          .host_error =
              [](const std::string& host) {
                auto parsed = tools::HostList::create(std::span(&host, 1));
                return parsed ? std::nullopt : std::optional(std::move(parsed).error());
              },
          .rule_error =
              [](std::string_view rule, std::span<const std::string> names) {
                auto checked = tools::check_rule(rule, names);
                return checked ? std::nullopt : std::optional(std::move(checked).error());
              },
          .hook_warning = tools::missed_changes};
}

std::set<std::string> names_of_tools(const agent::AgentSpec& agent) {
  const std::vector<std::string> builtins = tools::builtin_names();
  std::set<std::string> names(builtins.begin(), builtins.end());
  for (const agent::ToolSpec& tool : agent.tools) {
    names.insert(tool.name);
  }
  for (const agent::SubAgentSpec& sub : agent.sub_agents) {
    names.insert(sub.name);
  }
  for (const agent::HandoffSpec& handoff : agent.handoffs) {
    names.insert(handoff.tool());
  }
  return names;
}

std::set<std::string> names_of_tools_of_all(const std::filesystem::path& file,
                                            const agent::Environment& environment) {
  std::set<std::string> names;
  std::set<std::filesystem::path> files;
  std::vector<agent::AgentSpec> agents;
  const auto add = [&](const std::filesystem::path& one) {
    std::error_code error;
    if (files.insert(std::filesystem::weakly_canonical(one, error)).second) {
      auto report = config::load_agent(one, environment, known_names());
      if (report.agent) {
        agents.push_back(std::move(*report.agent));
      }
    }
  };
  add(file);
  while (!agents.empty()) {
    const agent::AgentSpec agent = std::move(agents.back());
    agents.pop_back();
    names.merge(names_of_tools(agent));
    for (const agent::McpServerSpec& server : agent.mcp_servers) {
      names.insert(server.tool_prefix());
    }
    const std::filesystem::path folder = agent.directory;
    for (const agent::StepSpec& step : agent.steps) {
      if (!step.is_command()) {
        add(folder / step.agent);
      }
    }
    for (const agent::SubAgentSpec& sub : agent.sub_agents) {
      if (sub.agent) {
        agents.push_back(*sub.agent);
      } else {
        add(folder / sub.file);
      }
    }
    for (const agent::HandoffSpec& handoff : agent.handoffs) {
      add(folder / handoff.file);
    }
  }
  return names;
}

std::vector<std::string> key_variables_of(const agent::AgentSpec& agent,
                                          const agent::Environment& environment) {
  std::vector<std::string> named;
  const auto add = [&](const agent::ModelSpec& model) {
    named.push_back(model.api_key_env);
    if (const auto resolved = providers::resolve(model, environment)) {
      named.push_back(resolved->api_key_env);
    }
  };
  add(agent.model);
  std::ranges::for_each(agent.fallback.models, add);
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    if (check.model) {
      add(*check.model);
    }
  }
  if (const auto& summarizer = agent.context_management.summarizer) {
    add(*summarizer);
  }
  return providers::key_variables(named);
}

void add_unknown_providers(config::Report& report, const agent::Environment& environment) {
  const auto line_of = [](const agent::Error& error) {
    return error.where ? error.where->line : 0;
  };
  const auto allow_all = [](const providers::KeyRequest&) -> agent::Result<void> { return {}; };
  for (const agent::ModelSpec& model : report.models) {
    auto resolved = providers::resolve(model, environment, allow_all);
    if (!resolved && resolved.error().code == agent::Code::registry_missing) {
      report.errors.push_back(std::move(resolved).error());
    }
  }
  std::ranges::stable_sort(report.errors, {}, line_of);
}

}  // namespace cli
