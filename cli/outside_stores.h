// Programs that run what an earlier run has left in a folder of the user's own, as npx and uvx do.
#pragma once
#include "tools/hooks/script_files.h"
#include "tools/process/sandbox.h"

#include <filesystem>
#include <string>

namespace cli {

// Such a folder of a program of the line, which tools can write: in it or below, where a link on
// the way to it leads, or one in its first levels. Empty: none.
std::filesystem::path written_store(const std::string& line,
                                    const tools::CommandPlace& place,
                                    const tools::Sandbox& rules);

}  // namespace cli
