// Which of the user's variables programs are told. What is not in the table stays outside, whatever
// it holds: so no encoding carries it past redaction.
#pragma once
#include "agent/environment.h"

#include <string>
#include <vector>

namespace tools {

// Those of the table. An address with a user name or password in it is left out, too.
agent::Environment harmless_variables(const agent::Environment& environment);

// What is left of it for a program that runs outside of the sandbox: no variable that names what it
// runs, loads or reads as its settings, but for PATH and certificates.
agent::Environment variables_outside(const agent::Environment& environment);
std::vector<std::string> names_outside();  // for people, as below

// The table, for people; `*` stands for any rest of a name.
std::vector<std::string> harmless_variable_names();

}  // namespace tools
