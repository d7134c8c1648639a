#include "cli/known_names.h"

#include "providers/registry.h"
#include "tools/registry.h"

namespace cli {

config::Known known_names() {
  return {.tools = tools::builtin_names(),
          .program_tools = tools::program_tools(),
          .protocols = providers::protocol_names()};
}

std::vector<std::string> key_variables_of(const agent::AgentSpec& agent) {
  std::vector<std::string> named{agent.model.api_key_env};
  for (const agent::ModelSpec& model : agent.fallback.models) {
    named.push_back(model.api_key_env);
  }
  return providers::key_variables(named);
}

}  // namespace cli
