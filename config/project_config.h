// A project's settings, `.errand/config.yaml` in its folder: what holds for every agent that works
// there. They can only tighten: whoever wrote the project gains no right by them.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"
#include "config/keys.h"
#include "config/load.h"

#include <expected>
#include <filesystem>
#include <span>
#include <vector>

namespace config {

struct ProjectConfig {
  agent::PermissionSpec permissions;  // `ask`, `deny` and a stricter standard
};

// Its keys, in the order of the man page.
std::span<const Key> project_keys();

// The nearest such file at or above `folder`; none is an empty one. It must be a regular file in a
// real `.errand` folder: a link could lead to a file that its writer may not read, and a mistake in
// it would show a line of that. Never throws.
std::expected<ProjectConfig, std::vector<agent::Error>> load_project_config(
    const std::filesystem::path& folder, const KnownNames& known);

// Takes over what is stricter.
void tighten(agent::PermissionSpec& permissions, const agent::PermissionSpec& by);

}  // namespace config
