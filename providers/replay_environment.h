// The environment of a replay.
#pragma once
#include "agent/environment.h"
#include "agent/spec.h"

#include <span>
#include <string>

namespace providers {

// The environment in which a recorded run finds its model: no key is needed, and none is used.
// `recorded` is where its key came from, and those of its members.
agent::Environment replay_environment(agent::Environment environment,
                                      std::span<const std::string> recorded,
                                      const agent::ModelSpec& spec);

}  // namespace providers
