#include "cli/known_names.h"

#include "providers/registry.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/hook_coverage.h"
#include "tools/permissions/permissions.h"
#include "tools/web/host_list.h"

#include <optional>
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

std::vector<std::string> key_variables_of(const agent::AgentSpec& agent) {
  std::vector<std::string> named{agent.model.api_key_env};
  for (const agent::ModelSpec& model : agent.fallback.models) {
    named.push_back(model.api_key_env);
  }
  for (const agent::GuardrailSpec& check : agent.guardrails.checks) {
    named.push_back(check.model ? check.model->api_key_env : "");
  }
  return providers::key_variables(named);
}

}  // namespace cli
