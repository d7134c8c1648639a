#include "providers/replay_environment.h"

#include "providers/registry.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace providers {
namespace {

// Stands in for a key. Too short for the redactor to take it for a secret.
constexpr std::string_view k_no_key = "replay";

}  // namespace

agent::Environment replay_environment(agent::Environment environment,
                                      std::span<const std::string> recorded,
                                      const agent::ModelSpec& spec) {
  const bool is_picked = spec.name == "auto";  // by the key that is there: a recorded one alone
  for (const std::string& name : key_variables({spec.api_key_env})) {
    environment.erase(name);
    if (!is_picked || std::ranges::find(recorded, name) != recorded.end()) {
      environment[name] = k_no_key;
    }
  }
  return environment;
}

}  // namespace providers
