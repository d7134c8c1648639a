// `hooks` into what the run goes by.
#pragma once
#include "agent/spec.h"
#include "config/problems.h"
#include "config/tree.h"

namespace config {

agent::HooksSpec build_hooks(const Value& map, Problems& problems);

}  // namespace config
