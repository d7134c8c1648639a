// Where the user's own files of this program are, by the XDG rules.
#pragma once
#include "agent/environment.h"

#include <filesystem>

namespace cli {

// Empty where neither the variable nor HOME says.
std::filesystem::path config_folder(const agent::Environment& environment);
std::filesystem::path data_folder(const agent::Environment& environment);
std::filesystem::path state_folder(const agent::Environment& environment);

// Of tools::sandbox::SharedPictures; empty as above.
std::filesystem::path pictures_folder(const agent::Environment& environment);

// The journal of all runs that name no other; empty as above.
std::filesystem::path default_journal(const agent::Environment& environment);

}  // namespace cli
