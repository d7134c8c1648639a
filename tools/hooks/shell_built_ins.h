// What the built-ins of a line leave behind in the shell that runs it: whether the names in it mean
// what they meant when it began.
#pragma once
#include "agent/environment.h"
#include "tools/permissions/shell_script.h"

#include <string>
#include <string_view>

namespace tools {

// Why the line may run something else than what stands in it; empty: it does not. `known` are the
// variables that its programs are told. Programs change nothing in the shell that starts them; each
// built-in of sh, dash, bash and zsh stands in one table with what of it is harmless.
std::string changes_names(const ShellScript& line, const agent::Environment& known);

bool is_shell_built_in(std::string_view name);

// In small letters: taken for the line's own, which programs heed only where it is exported.
bool is_own_variable(std::string_view name);

}  // namespace tools
