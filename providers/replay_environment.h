// The environment of a replay.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"

#include <string_view>

namespace providers {

// The environment in which a recorded run finds its model: no key is needed, and none is used.
// `key_variable` is where the recorded run's key came from.
agent::Environment replay_environment(agent::Environment environment,
                                      std::string_view key_variable,
                                      const agent::ModelSpec& spec);

}  // namespace providers
