// ${env:NAME} and ${env:NAME:-default} in the texts of a file. A variable that is set, but empty,
// takes the default too, as in a shell; the default ends at the first `}`. What a variable holds is
// never read again. $${ is written for a literal ${.
#pragma once
#include "agent/environment.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <string>
#include <string_view>

namespace config {

// Expands each text of the agent file's tree in place, but for x-* keys at the top. Unset
// variables, broken references and those that bring too much become problems with their column.
void expand_environment(Value& root, const agent::Environment& environment, Problems& problems);

// The text with its references to variables made unreadable, byte for byte: what templates are
// checked on, before expansion.
std::string without_references(std::string_view text);

}  // namespace config
