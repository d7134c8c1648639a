// Whether a hook that looks after files is told of every tool that changes them.
#pragma once
#include "agent/error.h"
#include "agent/spec.h"

#include <optional>
#include <span>

namespace tools {

// Of an agent with apply_patch: a hook whose matcher names another tool that changes files, but not
// that one; a patch would slip past it. One of the same point that is for apply_patch alone makes
// up for it. A matcher that is no expression is nobody's matter here.
std::optional<agent::Error> missed_changes(const agent::HooksSpec& hooks,
                                           const agent::HookSpec& hook,
                                           std::span<const agent::ToolSpec> tools);

}  // namespace tools
