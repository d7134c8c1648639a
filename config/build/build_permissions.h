// `permissions` of agent files and settings: rules as texts in, rules with their origin out.
#pragma once
#include "agent/spec.h"
#include "config/known_names.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <span>
#include <string>

namespace config {

// `tools`: the names that a rule of this file may speak of; empty: any.
agent::PermissionSpec build_permissions(const Value& map,
                                        std::span<const std::string> tools,
                                        const KnownNames& known,
                                        Problems& problems);

}  // namespace config
