#include "providers/replay_environment.h"

#include "providers/registry.h"

#include <string>

namespace providers {
namespace {

// Stands in for a key. Too short for the redactor to take it for a secret.
constexpr std::string_view k_no_key = "replay";

}  // namespace

agent::Environment replay_environment(agent::Environment environment,
                                      std::string_view key_variable,
                                      const agent::ModelSpec& spec) {
  const bool is_picked = spec.name == "auto";  // by the key that is there: the recorded one alone
  for (const std::string& name : key_variables({spec.api_key_env})) {
    environment.erase(name);
    if (!is_picked || name == key_variable) {
      environment[name] = k_no_key;
    }
  }
  return environment;
}

}  // namespace providers
