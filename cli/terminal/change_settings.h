// Writes what a person has said at a prompt into their own settings.
#pragma once
#include "agent/result.h"

#include <filesystem>
#include <functional>
#include <string>

namespace cli {

// Replaces the file by what `change` makes of its text, all of it or nothing; one that is not there
// is empty, and its folder is made. Errors: those of `change`; cli.cannot_create, storage.io.
agent::Result<void> change_settings(
    const std::filesystem::path& file,
    const std::function<agent::Result<std::string>(const std::string& text)>& change);

}  // namespace cli
