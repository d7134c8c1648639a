// Which of the user's variables programs are told. What is not in the table stays outside, whatever
// it holds: so no encoding carries it past redaction.
#pragma once
#include "agent/environment.h"

#include <string>
#include <vector>

namespace tools {

// Those of the table. An address with a user name or password in it is left out, too.
agent::Environment harmless_variables(const agent::Environment& environment);

// The table, for people; `*` stands for any rest of a name.
std::vector<std::string> harmless_variable_names();

}  // namespace tools
