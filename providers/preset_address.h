// Where the server of a preset is.
#pragma once
#include "agent/environment.h"
#include "agent/result.h"
#include "providers/presets.h"

#include <string>
#include <string_view>

namespace providers {

// What the preset's variable says, or its own; empty where it has no server. config.invalid where
// the variable's address is not one, or nothing says it.
agent::Result<std::string> preset_base_url(const Preset& preset,
                                           const agent::Environment& environment);

// The URL without slashes at its end. config.invalid where it is not one, or has more than an
// address and a path; `source` is the key or the variable that holds it.
agent::Result<std::string> checked_base_url(std::string url, std::string_view source);

}  // namespace providers
