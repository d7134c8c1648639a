// `hooks` into what the run goes by.
#pragma once
#include "agent/spec.h"
#include "config/load.h"
#include "config/problems.h"
#include "config/tree.h"

namespace config {

agent::HooksSpec build_hooks(const Value& map, const Known& known, Problems& problems);

}  // namespace config
