// The completion scripts of the shells, made from the table of options.h.
#pragma once
#include <string>

namespace cli {

std::string bash_completions();
std::string zsh_completions();
std::string fish_completions();

}  // namespace cli
